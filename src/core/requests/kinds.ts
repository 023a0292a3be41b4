import { WarpsmithError } from '../errors.ts';
import { jsonOf } from '../json/parse-json.ts';
import type { ParameterValues } from '../kernel.ts';
import { assignments } from '../values.ts';

/** A GPU, or `auto` for the run's own, and from whom: `h200`, `auto@lambda`, `h100-sxm@marketplace`. */
const GPU_PRICE_PATTERN = /^[a-z0-9][a-z0-9-]*(@[a-z0-9][a-z0-9-]*)?$/;

/** The values of an option: how command-line words become a value, how a value becomes words, and its schema. */
export interface Kind<T> {
  /**
   * The value after another mention of the option.
   * @param flag its name in errors, e.g. `--seed`. @throws WarpsmithError `bad-option-value`.
   */
  read(flag: string, text: string, previous: T | undefined): T;
  /** The words that give this value; none if the value is the same as omitting the option. */
  write(flag: string, value: T): string[];
  /** JSON Schema of the value. */
  readonly schema: Readonly<Record<string, unknown>>;
}

function badValue(flag: string, received: string, expected: string, hint: string): WarpsmithError {
  return new WarpsmithError({
    code: 'bad-option-value',
    message: `${flag} can't be "${received}".`,
    path: flag,
    received,
    expected,
    hint,
  });
}

const once = <T extends string | number>(
  schema: Kind<T>['schema'],
  read: (flag: string, text: string) => T,
): Kind<T> => ({
  schema,
  read,
  write: (flag, value) => [flag, String(value)],
});

/** Mentioned or not; `--no-…` flags are false where mentioned. */
export const FLAG: Kind<boolean> = {
  schema: { type: 'boolean' },
  read: (flag) => !isNegated(flag),
  write: (flag, value) => (value === isNegated(flag) ? [] : [flag]),
};

export const isNegated = (flag: string): boolean => flag.startsWith('--no-');

export const TEXT: Kind<string> = once({ type: 'string' }, (_flag, text) => text);

/** A file or folder; logs hold it as an absolute path. */
export const PATH: Kind<string> = once({ type: 'string' }, (_flag, text) => text);

export const integer = (minimum: number, maximum: number): Kind<number> =>
  once({ type: 'integer', minimum, maximum }, (flag, text) => {
    const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    const expected = `an integer from ${minimum} to ${maximum}`;
    throw badValue(flag, text, expected, `For example ${flag} ${Math.max(minimum, 1)}`);
  });

const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

export const positive = (maximum = Number.MAX_VALUE): Kind<number> =>
  once({ type: 'number', exclusiveMinimum: 0, maximum }, (flag, text) => {
    const value = numberOf(text);
    if (value > 0 && value <= maximum) return value;
    const expected = maximum === Number.MAX_VALUE ? 'a positive number' : `a positive number, at most ${maximum}`;
    throw badValue(flag, text, expected, `For example ${flag} 5`);
  });

export const zeroOrMore = (maximum: number): Kind<number> =>
  once({ type: 'number', minimum: 0, maximum }, (flag, text) => {
    const value = numberOf(text);
    if (value >= 0 && value <= maximum) return value;
    throw badValue(flag, text, `a number from 0 to ${maximum}`, `For example ${flag} 5`);
  });

/** A price, or whose price is to be looked up. */
export const GPU_PRICE: Kind<number | string> = {
  schema: { type: ['number', 'string'], exclusiveMinimum: 0, examples: [3.5, 'auto', 'h200', 'h100-sxm@lambda'] },
  read(flag, text) {
    const value = numberOf(text);
    if (value > 0 && value < Number.POSITIVE_INFINITY) return value;
    if (Number.isNaN(value) && GPU_PRICE_PATTERN.test(text)) return text;
    throw badValue(flag, text, 'a positive number, auto, or a GPU such as h200', `For example ${flag} 3.50`);
  },
  write: (flag, value) => [flag, String(value)],
};

/** A share in percent; the sign may be left out. */
export const percent = (maximum: number): Kind<number> => ({
  schema: { type: 'number', minimum: 0, maximum },
  read(flag, text) {
    const value = Number(/^\s*(\d+(?:\.\d+)?)\s*%?\s*$/.exec(text)?.[1] ?? Number.NaN);
    if (value <= maximum) return value;
    throw badValue(flag, text, `a share from 0% to ${maximum}%`, `For example ${flag} 5%`);
  },
  write: (flag, value) => [flag, `${value}%`],
});

/** One of a few words. */
export const choice = <const T extends string>(choices: readonly T[]): Kind<T> =>
  once({ enum: choices }, (flag, text) => {
    const chosen = choices.find((candidate) => candidate === text);
    if (chosen !== undefined) return chosen;
    throw badValue(flag, text, `one of ${choices.join(', ')}`, `For example ${flag} ${choices[0]}`);
  });

const writeEach = (flag: string, values: readonly string[]): string[] => values.flatMap((value) => [flag, value]);

/** Words out of a few, each once, in the order of their mentions. */
export function choices<const T extends string>(words: readonly T[]): Kind<readonly T[]> {
  const one = choice(words);
  return {
    schema: { type: 'array', items: one.schema },
    read: (flag, text, previous = []) => [...new Set([...previous, one.read(flag, text, undefined)])],
    write: writeEach,
  };
}

/** Repeated texts. */
export const TEXTS: Kind<readonly string[]> = {
  schema: { type: 'array', items: { type: 'string' } },
  read(flag, text, previous = []) {
    if (text.trim() === '') throw badValue(flag, text, 'a name', `For example ${flag} start`);
    return [...previous, text];
  },
  write: writeEach,
};

/** Repeated `NAME=VALUE`s. */
export const PARAMETERS: Kind<ParameterValues> = {
  schema: { type: 'object', additionalProperties: { type: 'number' } },
  read(flag, text, previous = {}) {
    const [, name = '', value = ''] = /^\s*([A-Za-z_]\w*)\s*=\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
    if (name === '' || name === '__proto__')
      throw badValue(flag, text, 'NAME=VALUE with a number', `For example ${flag} BLOCK_M=64`);
    if (Object.hasOwn(previous, name))
      throw badValue(flag, text, 'each parameter once', `${name} is set to ${previous[name]} already.`);
    return { ...previous, [name]: Number(value) };
  },
  write: (flag, values) => assignments(values).flatMap((assignment) => [flag, assignment]),
};

const MOST_WORKERS = 256;

/** How many worker processes, or which workers of a queue. */
export const WORKERS: Kind<string> = once(
  { type: 'string', examples: ['2', 'gpu=h200', 'virtual:l4'] },
  (flag, text) => {
    const isCount = /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_WORKERS;
    if (isCount || /^(?:virtual:|gpu=)[\w .-]+$/.test(text)) return text;
    const expected = `a number from 1 to ${MOST_WORKERS}; with --queue gpu=MODEL or virtual:MODEL`;
    throw badValue(flag, text, expected, `For example ${flag} 2, or ${flag} gpu=h200`);
  },
);

/** A C++ identifier. */
export const IDENTIFIER: Kind<string> = once({ type: 'string' }, (flag, text) => {
  if (/^[A-Za-z]\w*$/.test(text) && !text.includes('__')) return text;
  throw badValue(flag, text, 'letters, digits and underscores, a letter first', `For example ${flag} attention`);
});

/** Who somebody is, such as `claude-code` or `ana.b`. */
export const NAME: Kind<string> = once({ type: 'string' }, (flag, text) => {
  if (/^[A-Za-z0-9][\w.@-]{0,63}$/.test(text)) return text;
  throw badValue(flag, text, 'at most 64 letters, digits and . _ - @', `For example ${flag} claude-code`);
});

/** An executable and its arguments: one word, or a JSON array of words. No shell ever reads it. */
export const COMMAND_WORDS: Kind<readonly string[]> = {
  schema: { type: 'array', items: { type: 'string' }, minItems: 1 },
  read(flag, text) {
    const words = text.trimStart().startsWith('[') ? jsonOf(text) : /\s/.test(text) ? undefined : [text];
    if (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string') && words[0] !== '')
      return words as string[];
    const expected = 'an executable, or a JSON array of an executable and its arguments';
    throw badValue(flag, text, expected, `For example ${flag} '["runpodctl", "stop", "pod", "abc123"]'`);
  },
  write: (flag, value) => [flag, JSON.stringify(value)],
};
