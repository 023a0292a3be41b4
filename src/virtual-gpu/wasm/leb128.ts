/** LEB128, the variable-length integers of the WebAssembly binary format. */
export function unsignedLeb(value: number): number[] {
  const out: number[] = [];
  pushUnsigned(out, value);
  return out;
}

export function pushUnsigned(out: number[], value: number): void {
  let rest = value >>> 0;
  while (rest > 0x7f) {
    out.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  out.push(rest);
}

/** @param value 32 bits. */
export function pushSigned(out: number[], value: number): void {
  let rest = value;
  while (rest < -64 || rest > 63) {
    out.push((rest & 0x7f) | 0x80);
    rest >>= 7;
  }
  out.push(rest & 0x7f);
}

export function signedLeb(value: bigint): number[] {
  const out: number[] = [];
  let rest = value;
  for (;;) {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    const done = (rest === 0n && (byte & 0x40) === 0) || (rest === -1n && (byte & 0x40) !== 0);
    out.push(done ? byte : byte | 0x80);
    if (done) return out;
  }
}
