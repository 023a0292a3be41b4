import { PAGE_BYTES } from '../layout.ts';

/** Makes room for so many bytes. Returns whether memory grew: views from before are then void. */
export function growTo(memory: WebAssembly.Memory, bytes: number): boolean {
  const missing = Math.ceil((bytes - memory.buffer.byteLength) / PAGE_BYTES);
  if (missing > 0) memory.grow(missing);
  return missing > 0;
}

/** Typed views of a worker's private memory, renewed whenever it grows. */
export class PrivateMemory {
  readonly memory: WebAssembly.Memory;
  i32: Int32Array;
  u32: Uint32Array;
  f32: Float32Array;
  u16: Uint16Array;
  u8: Uint8Array;
  view: DataView;

  constructor() {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.i32 = new Int32Array(this.memory.buffer);
    this.u32 = new Uint32Array(this.memory.buffer);
    this.f32 = new Float32Array(this.memory.buffer);
    this.u16 = new Uint16Array(this.memory.buffer);
    this.u8 = new Uint8Array(this.memory.buffer);
    this.view = new DataView(this.memory.buffer);
  }

  /** Makes room for `bytes`. */
  reserve(bytes: number): void {
    if (!growTo(this.memory, bytes)) return;
    this.i32 = new Int32Array(this.memory.buffer);
    this.u32 = new Uint32Array(this.memory.buffer);
    this.f32 = new Float32Array(this.memory.buffer);
    this.u16 = new Uint16Array(this.memory.buffer);
    this.u8 = new Uint8Array(this.memory.buffer);
    this.view = new DataView(this.memory.buffer);
  }
}

/** Where the bytes of a CTA's shared memory are now. */
export interface SharedPlace {
  readonly view: DataView;
  readonly start: number;
}

/** A range of device memory a kernel may touch. */
export interface DeviceRange {
  name: string;
  start: number;
  bytes: number;
  /** A problem's input: a watched launch that writes to it is stopped. */
  isReadOnly?: boolean;
}
