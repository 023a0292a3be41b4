import { describe, expect, it } from 'vitest';
import { formatPrintf } from '../../../src/virtual-gpu/runtime/printing/format.ts';

type Value = number | bigint | string;

const bitsOf = (value: number): bigint => new BigUint64Array(Float64Array.of(value).buffer)[0]!;

/** Whole numbers as bigint, floating-point numbers as number, texts as text. */
function print(format: string, ...values: readonly Value[]) {
  const left = [...values];
  const double = (): bigint => {
    const value = left[0]!;
    if (typeof value === 'string') return 1n;
    left.shift();
    return typeof value === 'number' ? bitsOf(value) : BigInt.asUintN(64, value);
  };
  const word = (): number => Number(BigInt.asUintN(32, left.shift() as bigint));
  return formatPrintf(format, { word, double, text: () => left.shift() as string });
}

const textOf = (format: string, ...values: readonly Value[]): string => print(format, ...values).text;

// What glibc 2.36 prints.
describe('printf', () => {
  it.each<[string, Value, string]>([
    ['%d', -42n, '-42'],
    ['%i', 7n, '7'],
    ['%+d|', 7n, '+7|'],
    ['% d', 7n, ' 7'],
    ['%6.3d|', -7n, '  -007|'],
    ['%-6d|', -7n, '-7    |'],
    ['%06d', -7n, '-00007'],
    ['%06.2d', 7n, '    07'],
    ['%.0d|', 0n, '|'],
    ['%u', -1n, '4294967295'],
    ['%hu', -1n, '65535'],
    ['%hhd', 200n, '-56'],
    ['%ld', -1n, '-1'],
    ['%llu', -1n, '18446744073709551615'],
    ['%zu', 1n << 40n, '1099511627776'],
    ['%x', 255n, 'ff'],
    ['%#X', 255n, '0XFF'],
    ['%#x', 0n, '0'],
    ['%#o', 8n, '010'],
    ['%#.3o', 8n, '010'],
    ['%c', 65n, 'A'],
    ['%3c|', 65n, '  A|'],
    ['%c', 27n, '\\x1b'],
    ['%p', 0n, '(nil)'],
    ['%p', 0x7f0000000010n, '0x7f0000000010'],
    ['%s', 'text', 'text'],
    ['%6.2s|', 'text', '    te|'],
    ['%-6s|', 'text', 'text  |'],
    ['%f', 0.1, '0.100000'],
    ['%.20f', 0.1, '0.10000000000000000555'],
    ['%.0f', 0.5, '0'],
    ['%.0f', 1.5, '2'],
    ['%.0f', 2.5, '2'],
    ['%#.0f', 2, '2.'],
    ['%.1f', 0.25, '0.2'],
    ['%f', 1e21, '1000000000000000000000.000000'],
    ['%08.2f', -3.125, '-0003.12'],
    ['%08f', Number.POSITIVE_INFINITY, '     inf'],
    ['%F', Number.NEGATIVE_INFINITY, '-INF'],
    ['%f', Number.NaN, 'nan'],
    ['%f', -0, '-0.000000'],
    ['%e', 123456789.125, '1.234568e+08'],
    ['%.0e', 9.5, '1e+01'],
    ['%E', 5e-324, '4.940656E-324'],
    ['%g', 100000, '100000'],
    ['%g', 1e6, '1e+06'],
    ['%g', 0.0001, '0.0001'],
    ['%g', 0.00001, '1e-05'],
    ['%g', 999999.5, '1e+06'],
    ['%#g', 1, '1.00000'],
    ['%.3g', 1234, '1.23e+03'],
    ['%a', 1, '0x1p+0'],
    ['%a', -0.1, '-0x1.999999999999ap-4'],
    ['%.1a', 1.96875, '0x2.0p+0'],
    ['%A', 5e-324, '0X0.0000000000001P-1022'],
  ])('%s of %s', (format, value, expected) => {
    expect(textOf(format, value)).toBe(expected);
  });

  it('takes widths and precisions from arguments, and counts them', () => {
    expect(print('%*d|%.*f|%-*d|', 4n, 7n, 1n, 2.25, -3n, 5n)).toEqual({ text: '   7|2.2|5  |', count: 6 });
  });

  it('leaves alone what is no specifier', () => {
    expect(print('100%% of %y and %', 1n)).toEqual({ text: '100% of %y and %', count: 0 });
  });

  it('takes 32 arguments', () => {
    const values = Array.from({ length: 34 }, (_, i) => BigInt(i));
    const { text, count } = print('%d '.repeat(34), ...values);
    expect(count).toBe(32);
    expect(text.endsWith('30 31 %d %d ')).toBe(true);
  });

  it('reads the same arguments when the text is not wanted', () => {
    const format = '%d %5.1f %s %lld %c %x';
    const read = (isWanted: boolean) => {
      const order: string[] = [];
      const note = <T>(what: string, value: T): T => {
        order.push(what);
        return value;
      };
      const { count } = formatPrintf(
        format,
        { word: () => note('word', 65), double: () => note('double', 1n), text: () => note('text', 'x') },
        isWanted,
      );
      return { order, count };
    };
    expect(read(false)).toEqual(read(true));
  });
});
