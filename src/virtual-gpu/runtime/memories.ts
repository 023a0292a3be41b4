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
    const missing = Math.ceil(bytes / 65536) - this.memory.buffer.byteLength / 65536;
    if (missing <= 0) return;
    this.memory.grow(missing);
    this.i32 = new Int32Array(this.memory.buffer);
    this.u32 = new Uint32Array(this.memory.buffer);
    this.f32 = new Float32Array(this.memory.buffer);
    this.u16 = new Uint16Array(this.memory.buffer);
    this.u8 = new Uint8Array(this.memory.buffer);
    this.view = new DataView(this.memory.buffer);
  }
}

/** A range of device memory a kernel may touch. */
export interface DeviceRange {
  name: string;
  start: number;
  bytes: number;
  /** A problem's input: a watched launch that writes to it is stopped. */
  isReadOnly?: boolean;
}
