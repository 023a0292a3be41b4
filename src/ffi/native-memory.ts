import koffi from 'koffi';

/**
 * Memory at an address that does not change, for structures and results that native functions read and write. Lives as
 * long as this object: keep it referenced until the call that uses its address has returned.
 */
export class NativeMemory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  readonly address: bigint;

  /** @param alignmentBytes a power of two. */
  constructor(sizeBytes: number, alignmentBytes = 16) {
    const buffer = new ArrayBuffer(Math.max(1, sizeBytes) + alignmentBytes - 1);
    const start = BigInt(koffi.address(buffer));
    const offset = Number(-start & BigInt(alignmentBytes - 1));
    this.bytes = new Uint8Array(buffer, offset, sizeBytes);
    this.view = new DataView(buffer, offset, sizeBytes);
    this.address = start + BigInt(offset);
  }

  /** The pointer or handle at `offset`. */
  pointer(offset = 0): bigint {
    return this.view.getBigUint64(offset, true);
  }
}

/** Bytes at an address that native code owns. They are valid only as long as it keeps them. */
export function viewMemory(address: bigint, sizeBytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(koffi.view(address, sizeBytes));
}

/** The zero-terminated text at an address. */
export function textAt(address: bigint): string | undefined {
  return address === 0n ? undefined : (koffi.decode(address, 'char', -1) as string);
}

/** Zero-terminated text at the start of `bytes`. */
export function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
