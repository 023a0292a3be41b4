import { WarpsmithError } from '../core/errors.ts';
import type { ParameterValues } from '../core/kernel.ts';

function badValue(option: string, received: string, expected: string, hint: string): WarpsmithError {
  return new WarpsmithError({
    code: 'bad-option-value',
    message: `${option} can't be "${received}".`,
    path: option,
    received,
    expected,
    hint,
  });
}

/** Reads an integer in a range. */
export const integerOption =
  (option: string, minimum: number, maximum: number) =>
  (text: string): number => {
    const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (!(value >= minimum && value <= maximum)) {
      throw badValue(
        option,
        text,
        `an integer from ${minimum} to ${maximum}`,
        `For example ${option} ${Math.max(minimum, 1)}`,
      );
    }
    return value;
  };

/** Reads a positive number. */
export const positiveOption =
  (option: string, maximum = Number.MAX_VALUE) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    const expected = maximum === Number.MAX_VALUE ? 'a positive number' : `a positive number, at most ${maximum}`;
    if (!(value > 0 && value <= maximum)) throw badValue(option, text, expected, `For example ${option} 5`);
    return value;
  };

/** Collects repeated `NAME=VALUE`s. */
export const collectParameter =
  (option: string) =>
  (text: string, previous: ParameterValues = {}): ParameterValues => {
    const [, name = '', value = ''] = /^\s*([A-Za-z_]\w*)\s*=\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
    if (name === '' || name === '__proto__')
      throw badValue(option, text, 'NAME=VALUE with a number', `For example ${option} BLOCK_M=64`);
    if (Object.hasOwn(previous, name))
      throw badValue(option, text, 'each parameter once', `${name} is set to ${previous[name]} already.`);
    return { ...previous, [name]: Number(value) };
  };

/** Collects repeated texts. */
export const collectText =
  (option: string) =>
  (text: string, previous: readonly string[] = []): string[] => {
    if (text.trim() === '') throw badValue(option, text, 'a name', `For example ${option} start`);
    return [...previous, text];
  };

/** Reads one of a few words. */
export const choiceOption =
  <T extends string>(option: string, choices: readonly T[]) =>
  (text: string): T => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined)
      throw badValue(option, text, `one of ${choices.join(', ')}`, `For example ${option} ${choices[0]}`);
    return choice;
  };

/** Collects repeated words out of a few, each once. */
export const collectChoice = <T extends string>(option: string, choices: readonly T[]) => {
  const read = choiceOption(option, choices);
  return (text: string, previous: readonly T[] = []): T[] => [...new Set([...previous, read(text)])];
};

/** Reads a C++ identifier. */
export const identifierOption =
  (option: string) =>
  (text: string): string => {
    if (!/^[A-Za-z]\w*$/.test(text) || text.includes('__'))
      throw badValue(
        option,
        text,
        'letters, digits and underscores, a letter first',
        `For example ${option} attention`,
      );
    return text;
  };
