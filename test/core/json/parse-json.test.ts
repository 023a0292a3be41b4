import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatJsonPath, formatJsonValue, valueAtJsonPath } from '../../../src/core/json/json-path.ts';
import { parseJson } from '../../../src/core/json/parse-json.ts';
import { detailsOf } from '../support/expect-error.ts';

const NEARBY = 'Look for a missing comma, quote or bracket just before this place.';

it('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      fc.pre(!text.includes('__proto__'));
      expect(parseJson(text, 'a.json')).toEqual(JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

it('refuses what JSON.parse refuses', () => {
  const fragments = ['{', '}', '[', ']', ',', ':', '"a"', '1', '-', 'null', ' ', '"', '0', '.', 'e', '\\u00', 'true'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 8 }), (parts) => {
      const text = parts.join('');
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      if (valid) expect(parseJson(text, 'a.json')).toEqual(JSON.parse(text));
      else expect(detailsOf(() => parseJson(text, 'a.json')).code).toBe('invalid-json');
    }),
    { numRuns: 2000 },
  );
});

it('skips a byte-order mark', () => {
  expect(parseJson('\ufeff{}', 'a.json')).toEqual({});
});

describe('mistakes', () => {
  it('says line and column, what stands there, and what should', () => {
    expect(detailsOf(() => parseJson('{\n  "name": "x",\n  "steps": [1 2]\n}', 'kernel.json'))).toEqual({
      code: 'invalid-json',
      message: 'Not valid JSON (line 3, column 15).',
      file: 'kernel.json',
      path: '3:15',
      received: '2',
      expected: '`,` or `]`',
      hint: NEARBY,
    });
  });

  const cases: [text: string, path: string, received: string, expected: string, hint: string][] = [
    ['', '1:1', 'the end of the file', 'a value', NEARBY],
    ['{"a": 1', '1:8', 'the end of the file', '`,` or `}`', NEARBY],
    ['{"a": [1, 2,]}', '1:13', ']', 'a value', 'Remove the comma before the closing bracket.'],
    ['{"a": 1,\n}', '2:1', '}', 'a key in double quotes', 'Remove the comma before the closing bracket.'],
    [
      '{\n  // tile\n  "a": 1\n}',
      '2:3',
      '/',
      'a key in double quotes',
      'JSON has no comments; use the `description` fields.',
    ],
    ["{'a': 1}", '1:2', "'", 'a key in double quotes', 'JSON strings stand in double quotes.'],
    ['{"a": undefined}', '1:7', 'undefined', 'a value', NEARBY],
    ['{"a" 1}', '1:6', '1', '`:`', NEARBY],
    ['{} {}', '1:4', '{', 'the end of the file', NEARBY],
    ['{"a": 01}', '1:8', '1', '`,` or `}`', NEARBY],
    ['{"a": "b\n"}', '1:7', '"', 'a string', NEARBY],
    ['{"a": 1, "a": 2}', '1:10', 'a', 'each key once', 'Remove one of the two: the first would be ignored.'],
  ];
  it.each(cases)('%j', (text, path, received, expected, hint) => {
    const details = detailsOf(() => parseJson(text, 'a.json'));
    expect(details).toMatchObject({ code: 'invalid-json', file: 'a.json', path, received, expected });
    expect(details.hint).toBe(hint);
  });

  it('keeps prototypes out', () => {
    expect(detailsOf(() => parseJson('{"__proto__": {"a": 1}}', 'a.json')).code).toBe('invalid-json');
  });

  it('bounds nesting', () => {
    expect(detailsOf(() => parseJson('['.repeat(5000), 'a.json')).expected).toBe('at most 100 levels of nesting');
  });
});

describe('paths and values', () => {
  it('spells paths as users read them', () => {
    expect(formatJsonPath(['steps', 0, 'grid', 1])).toBe('steps[0].grid[1]');
    expect(formatJsonPath(['generatorSets', 'one-hot', 'Q'])).toBe('generatorSets["one-hot"].Q');
    expect(formatJsonPath([])).toBe('');
  });
  it('finds values, own keys only', () => {
    expect(valueAtJsonPath({ a: [{ b: 3 }] }, ['a', 0, 'b'])).toBe(3);
    expect(valueAtJsonPath({ a: 1 }, ['a', 'b'])).toBeUndefined();
    expect(valueAtJsonPath({}, ['constructor'])).toBeUndefined();
  });
  it('cuts long values', () => {
    expect(formatJsonValue('x'.repeat(200))).toHaveLength(80);
    expect(formatJsonValue(undefined)).toBe('nothing');
  });
});
