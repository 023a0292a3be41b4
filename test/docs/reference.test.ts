import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXPRESSION_FUNCTIONS } from '../../src/core/expressions/functions.ts';
import { jsonSchemas } from '../../src/core/schemas/json-schemas.ts';
import { EVALUATION_STATUSES } from '../../src/core/status.ts';
import { FINDING_IDS } from '../../src/core/vocabulary.ts';
import { STOP_REASONS } from '../../src/store/events.ts';
import { readPage } from './support/pages.ts';

/** Names of all properties anywhere in a JSON Schema. */
const propertyNames = (schema: unknown): Set<string> => {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { properties } = node as { properties?: Record<string, unknown> };
    for (const name of Object.keys(properties ?? {})) names.add(name);
    for (const child of Object.values(node)) visit(child);
  };
  visit(schema);
  return names;
};

/** Names that a page does not mention as code. */
const unmentioned = (page: string, names: Iterable<string>): string[] => {
  const code = [...page.matchAll(/`([^`\n]+)`|"([^"\n]+)"/g)].map((match) => match[1] ?? match[2]!).join(' ');
  return [...names].filter((name) => !new RegExp(`(?<![\\w-])${name.replace('$', '\\$')}(?![\\w-])`).test(code));
};

const schemas = jsonSchemas();
const pageOf = (name: string): string => readPage(`docs/reference/${name}.md`);

describe('the reference names everything there is', () => {
  it('fields of problem.json', () => {
    expect(unmentioned(pageOf('problem-json'), propertyNames(schemas['problem.schema.json']))).toEqual([]);
  });
  it('fields of kernel.json', () => {
    expect(unmentioned(pageOf('kernel-json'), propertyNames(schemas['kernel.schema.json']))).toEqual([]);
  });
  it('fields of an evaluation', () => {
    const pages = ['evaluation-json', 'counters', 'findings'].map(pageOf).join('\n');
    const fields = [...propertyNames(schemas['evaluation.schema.json'])];
    // Fields of places and faults that their names explain.
    const plain = [
      'file',
      'line',
      'column',
      'severity',
      'message',
      'counter',
      'cta',
      'thread',
      'address',
      'accessBytes',
    ];
    const nested = ['buffer', 'offsetBytes', 'sizeBytes', 'source', 'instruction', 'ptxLine', 'location'];
    const named = fields.filter((name) => ![...plain, ...nested].includes(name));
    expect(unmentioned(pages, named)).toEqual([]);
  });
  it('statuses', () => expect(unmentioned(pageOf('evaluation-json'), EVALUATION_STATUSES)).toEqual([]));
  it('stop reasons', () => expect(unmentioned(pageOf('cli'), STOP_REASONS)).toEqual([]));
  it('functions of expressions', () =>
    expect(unmentioned(pageOf('kernel-json'), EXPRESSION_FUNCTIONS.keys())).toEqual([]));
  it('would miss a field that is not there', () => {
    expect(unmentioned(pageOf('kernel-json'), ['noSuchField'])).toEqual(['noSuchField']);
  });
});

/** The section of a finding, up to the next heading. */
const sectionOf = (id: string): string => pageOf('findings').split(`\n## ${id}\n`)[1]?.split('\n## ')[0] ?? '';

describe('the page of findings', () => {
  it.each(FINDING_IDS)('%s: says what fires it, with the thresholds of the rule', (id) => {
    const section = sectionOf(id);
    for (const part of ['**Fires when**', '**Estimate:**', '**Do:**']) expect(section).toContain(part);
    const bound = ['memory-bound', 'compute-bound', 'latency-bound'].includes(id);
    const source = readFileSync(`src/diagnosis/rules/${bound ? 'bound-by' : id}.ts`, 'utf8');
    const constants = [
      ...source.matchAll(/^const [A-Z_]*(?:THRESHOLD|MINIMUM|MAXIMUM|REMAINING|HALVED)\w* = ([\d.]+);/gm),
    ];
    expect(constants.length).toBeGreaterThan(0);
    for (const [, value] of constants)
      expect(section, `${id}: ${value}`).toMatch(new RegExp(`(?<![\\d.])${value}(?!\\d|\\.\\d)`));
  });
});
