/** A line of JSON, then raw bytes: on the wire the header's `payloadBytes` says how many, payload by payload. */
export interface LineMessage {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payloads: readonly Uint8Array[];
}

/** A header has a few hundred bytes; a longer one does not belong to this protocol. */
const MAXIMUM_LINE_BYTES = 16 * 1024 * 1024;

/** To copy so many bytes takes less than another call of the system. */
const MOST_COPIED_BYTES = 2 ** 16;

/** Writes the line, then the bytes; of a short message, all at once. */
export function writeMessage(stream: NodeJS.WritableStream, { header, payloads }: LineMessage): void {
  const bytes = payloads.map(({ byteLength }) => byteLength);
  const sizes = payloads.length > 0 ? { payloadBytes: bytes } : {};
  const line = Buffer.from(`${JSON.stringify({ ...header, ...sizes })}\n`);
  const isShort = bytes.reduce((sum, count) => sum + count, 0) <= MOST_COPIED_BYTES;
  for (const part of isShort ? [Buffer.concat([line, ...payloads])] : [line, ...payloads]) stream.write(part);
}

/** From so many bytes on, a copy for another thread takes longer than memory that threads share is made. */
const LEAST_SHARED_BYTES = 2 ** 16;

/** A message of which the payloads still come. */
interface Arriving {
  readonly header: LineMessage['header'];
  /** Each in memory of its own, so that whoever reads numbers from one needs no copy; large ones can go to other threads as they are. */
  readonly payloads: readonly Uint8Array[];
  /** The payload that comes next, and how much of it is there. */
  at: number;
  filled: number;
}

/**
 * Cuts a byte stream into messages. Bytes of payloads are put where they stay as they come: a payload may have a gigabyte, of which no second copy
 * is made.
 */
export class MessageReader {
  readonly #maximumPayloadBytes: number;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #arriving: Arriving | undefined;

  constructor(maximumPayloadBytes = Number.POSITIVE_INFINITY) {
    this.#maximumPayloadBytes = maximumPayloadBytes;
  }

  /** @throws Error when a line is no JSON object or too long, or announces more bytes than are taken. */
  *push(chunk: Buffer): Generator<LineMessage> {
    let rest = chunk;
    while (true) {
      if (this.#arriving === undefined) {
        const end = rest.indexOf(0x0a);
        this.#addToLine(end < 0 ? rest : rest.subarray(0, end + 1));
        if (end < 0) return;
        this.#arriving = this.#announced();
        rest = rest.subarray(end + 1);
      }
      rest = rest.subarray(fill(this.#arriving, rest));
      const { header, payloads, at } = this.#arriving;
      if (at < payloads.length) return;
      this.#arriving = undefined;
      yield { header, payloads };
      if (rest.length === 0) return;
    }
  }

  #addToLine(part: Buffer): void {
    this.#line.push(part);
    this.#lineBytes += part.length;
    if (this.#lineBytes > MAXIMUM_LINE_BYTES) throw new Error('a line without end');
  }

  #announced(): Arriving {
    const header: unknown = JSON.parse(Buffer.concat(this.#line).toString('utf8'));
    this.#line = [];
    this.#lineBytes = 0;
    if (typeof header !== 'object' || header === null) throw new Error('a line that is no JSON object');
    const sizes = sizesOf((header as LineMessage['header']).payloadBytes);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (!(bytes <= this.#maximumPayloadBytes)) throw new Error(`${bytes} bytes announced`);
    const payloads = sizes.map((size) =>
      Buffer.from(size < LEAST_SHARED_BYTES ? new ArrayBuffer(size) : new SharedArrayBuffer(size)),
    );
    return { header: header as LineMessage['header'], payloads, at: 0, filled: 0 };
  }
}

/** Puts bytes where they belong. @returns how many of them belong to the message. */
function fill(arriving: Arriving, bytes: Buffer): number {
  let taken = 0;
  for (; arriving.at < arriving.payloads.length; arriving.at++, arriving.filled = 0) {
    const payload = arriving.payloads[arriving.at]!;
    const part = bytes.subarray(taken, taken + payload.length - arriving.filled);
    payload.set(part, arriving.filled);
    arriving.filled += part.length;
    taken += part.length;
    if (arriving.filled < payload.length) break;
  }
  return taken;
}

function sizesOf(value: unknown): number[] {
  if (value === undefined) return [];
  const isSize = (size: unknown): size is number => Number.isSafeInteger(size) && (size as number) >= 0;
  if (!Array.isArray(value) || !value.every(isSize)) throw new Error('payloadBytes are not sizes');
  return value;
}
