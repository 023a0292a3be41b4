import { createHmac, timingSafeEqual } from 'node:crypto';

/** A text, and what proves that somebody with the key wrote it for this purpose. */
export interface Sealed {
  readonly body: string;
  /** HMAC-SHA256 over purpose and body, in hexadecimal. */
  readonly mac: string;
}

/** Signs texts and checks signatures. The key stays inside. */
export class Seal {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  close(purpose: string, body: string): Sealed {
    return { body, mac: this.#macOf(purpose, body).toString('hex') };
  }

  /** The text, if it was sealed with this key for this purpose. */
  open(purpose: string, sealed: unknown): string | undefined {
    const { body, mac } = (typeof sealed === 'object' && sealed !== null ? sealed : {}) as Partial<Sealed>;
    if (typeof body !== 'string' || typeof mac !== 'string') return undefined;
    const [given, own] = [Buffer.from(mac, 'hex'), this.#macOf(purpose, body)];
    return given.length === own.length && timingSafeEqual(given, own) ? body : undefined;
  }

  #macOf(purpose: string, body: string): Buffer {
    // A purpose holds no line break, so that no two pairs give the same text.
    return createHmac('sha256', this.#key).update(`${purpose}\n${body}`).digest();
  }
}
