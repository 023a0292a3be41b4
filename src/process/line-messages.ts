/** A line of JSON, then raw bytes: on the wire the header's `payloadBytes` says how many, payload by payload. */
export interface LineMessage {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payloads: readonly Uint8Array[];
}

/** A header has a few hundred bytes; a longer one does not belong to this protocol. */
const MAXIMUM_LINE_BYTES = 16 * 1024 * 1024;

/** Writes the line, then the bytes. */
export function writeMessage(stream: NodeJS.WritableStream, { header, payloads }: LineMessage): void {
  const sizes = payloads.length > 0 ? { payloadBytes: payloads.map(({ byteLength }) => byteLength) } : {};
  stream.write(`${JSON.stringify({ ...header, ...sizes })}\n`);
  for (const payload of payloads) stream.write(payload);
}

/** Cuts a byte stream into messages. */
export class MessageReader {
  readonly #maximumPayloadBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #header: LineMessage['header'] | undefined;
  /** Bytes of each payload the header announced. */
  #sizes: number[] = [];

  constructor(maximumPayloadBytes = Number.POSITIVE_INFINITY) {
    this.#maximumPayloadBytes = maximumPayloadBytes;
  }

  /** @throws Error when a line is no JSON object or too long, or announces more bytes than are taken. */
  *push(chunk: Buffer): Generator<LineMessage> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (true) {
      if (this.#header === undefined && !this.#readLine()) return;
      const wanted = this.#sizes.reduce((sum, size) => sum + size, 0);
      if (this.#bytes < wanted) return;
      const payloads = this.#sizes.map((size) => this.#take(size));
      const header = this.#header!;
      this.#header = undefined;
      yield { header, payloads };
    }
  }

  #readLine(): boolean {
    const end = this.#merge().indexOf(0x0a);
    if (end < 0) {
      if (this.#bytes > MAXIMUM_LINE_BYTES) throw new Error('a line without end');
      return false;
    }
    const header: unknown = JSON.parse(this.#take(end + 1).toString('utf8'));
    if (typeof header !== 'object' || header === null) throw new Error('a line that is no JSON object');
    this.#header = header as LineMessage['header'];
    this.#sizes = sizesOf(this.#header.payloadBytes);
    const announced = this.#sizes.reduce((sum, size) => sum + size, 0);
    if (!(announced <= this.#maximumPayloadBytes)) throw new Error(`${announced} bytes announced`);
    return true;
  }

  #take(size: number): Buffer {
    const buffered = this.#merge();
    this.#chunks = [buffered.subarray(size)];
    this.#bytes -= size;
    return buffered.subarray(0, size);
  }

  /** Everything received as one piece: only when a line is looked for, or all payloads are there. */
  #merge(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }
}

function sizesOf(value: unknown): number[] {
  if (value === undefined) return [];
  const isSize = (size: unknown): size is number => Number.isSafeInteger(size) && (size as number) >= 0;
  if (!Array.isArray(value) || !value.every(isSize)) throw new Error('payloadBytes are not sizes');
  return value;
}
