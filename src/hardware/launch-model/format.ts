/** Four significant digits, for the arithmetic texts. */
export const figure = (value: number): string => Number(value.toPrecision(4)).toString();
