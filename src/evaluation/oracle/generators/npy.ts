import path from 'node:path';
import { type DType, sizeOfDType } from '../../../core/dtype.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import { decode } from '../../../core/rounding.ts';
import { readRegularFile } from '../../../store/read-regular-file.ts';
import type { Generate } from './generator.ts';

/** NumPy's type codes, little-endian, as in the `descr` of a .npy header. */
const DTYPE_OF_DESCR: Readonly<Record<string, DType>> = {
  '<f2': 'f16',
  '<f4': 'f32',
  '<f8': 'f64',
  '|i1': 'i8',
  '|u1': 'u8',
  '<i2': 'i16',
  '<u2': 'u16',
  '<i4': 'i32',
  '<u4': 'u32',
  '<i8': 'i64',
  '<u8': 'u64',
};

/** Values from a .npy file beside problem.json: little-endian, C order, with exactly the input's shape. */
export const npy: Generate<'npy'> = ({ file }, { input, shape, elementCount, folder }) => {
  const location = path.resolve(folder, file);
  const fail = (message: string, received: string, expected: string): never => {
    throw new WarpsmithError({
      code: 'npy-file',
      message: `input '${input}': ${message}`,
      file: location,
      received,
      expected,
      hint: 'Write the array with numpy.save(path, numpy.ascontiguousarray(a)), with the shape of this workload.',
    });
  };
  const array = parseNpy(readNpy(location, input));
  if (array === undefined) return fail('not a .npy file that can be read', 'another format', 'NumPy format 1, 2 or 3');
  const dtype = DTYPE_OF_DESCR[array.descr];
  if (!dtype) return fail('element type not supported', array.descr, Object.keys(DTYPE_OF_DESCR).join(', '));
  if (array.fortranOrder) return fail('array is in Fortran order', 'fortran_order: True', 'C order');
  if (array.shape.join() !== shape.join()) return fail('wrong shape', `[${array.shape}]`, `[${shape}]`);
  const bytes = elementCount * sizeOfDType(dtype);
  if (array.data.length < bytes) return fail('file is too short', `${array.data.length} bytes`, `${bytes} bytes`);
  return decode(array.data.slice(0, bytes), dtype);
};

/** What Node reads at once. */
const MAXIMUM_BYTES = 2 ** 31 - 1;

function readNpy(location: string, input: string): Uint8Array {
  try {
    return readRegularFile(location, MAXIMUM_BYTES);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WarpsmithError({
      code: code === 'ENOENT' ? 'missing-file' : 'npy-file',
      message: `input '${input}': its .npy file cannot be read`,
      file: location,
      received: code,
      expected: `a regular file of at most ${MAXIMUM_BYTES} bytes`,
      hint: 'The path is relative to the folder of problem.json.',
    });
  }
}

interface NpyArray {
  descr: string;
  fortranOrder: boolean;
  shape: number[];
  data: Uint8Array;
}

/** Source: NumPy enhancement proposal 1 and numpy.lib.format. */
function parseNpy(bytes: Uint8Array): NpyArray | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== 'NUMPY') return;
  const wide = bytes[6]! > 1;
  const headerStart = wide ? 12 : 10;
  const headerLength = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder().decode(bytes.subarray(headerStart, headerStart + headerLength));
  const descr = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const fortran = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descr === undefined || fortran === undefined || shape === undefined) return;
  return {
    descr,
    fortranOrder: fortran === 'True',
    shape: shape
      .split(',')
      .filter((extent) => extent.trim() !== '')
      .map(Number),
    data: bytes.subarray(headerStart + headerLength),
  };
}
