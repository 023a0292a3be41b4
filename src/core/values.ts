/** Dimensions or parameters by name. */
type Values = Readonly<Record<string, number>>;

/** `['M=64', 'N=8']`: as a command line takes them. */
export const assignments = (values: Values): string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${value}`);

/** The same text for equal values, whatever the order of their names. Seeds depend on it, so it may never change. */
export const valuesKey = (values: Values): string => JSON.stringify(Object.entries(values).sort());

/** The entries in the order of their names' characters. */
export const sortedEntries = <T>(record: Readonly<Record<string, T>>): [string, T][] =>
  Object.entries(record).sort(([left], [right]) => (left < right ? -1 : 1));

/** Whether these are the same, whatever the order of their names. */
export const isSame = (one: Values, other: Values): boolean => valuesKey(one) === valuesKey(other);

/** Each once: the last of equal ones, where the first one was. */
export const distinctValues = <V extends Values>(all: readonly V[]): V[] => [
  ...new Map(all.map((values) => [valuesKey(values), values])).values(),
];

/** A figure in so many significant digits, without zeros at its end: `3.142`. */
export const figure = (value: number, digits = 4): string => String(Number(value.toPrecision(digits)));

/** 0 … `count` − 1. */
export const numbersBelow = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

/** The next multiple of `unit`. */
export const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit;

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);

/** The list, if there is anything in it. */
export const nonEmpty = <List extends readonly unknown[]>(list: List): List | undefined =>
  list.length > 0 ? list : undefined;

/** The one of a list that has no other. */
export const only = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);
