import { isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { encode } from '../../core/rounding.ts';
import type { RandomStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';

/**
 * The contents of an output before a timed sequence. `nan` and `plausible` are patterns; `stale` is the result of the
 * previous sample, right for other inputs. The choice for each slot is secret, so that no kernel can recognise a sample by
 * its poison. If more than `mayHold` elements equal the pattern afterwards, they were certainly not written if it is `nan`;
 * if it is `plausible`, the oracle decides.
 */
export type SlotPoison =
  | { readonly kind: 'nan' | 'plausible'; readonly pattern: Uint8Array; readonly mayHold: number }
  | { readonly kind: 'stale' };

/** Bits of NaNs by dtype: the exponent's ones, and the number of mantissa bits. */
const NAN_BITS: Readonly<Record<string, { exponent: bigint; mantissaBits: bigint; bits: bigint }>> = {
  f16: { exponent: 0x7c00n, mantissaBits: 10n, bits: 16n },
  bf16: { exponent: 0x7f80n, mantissaBits: 7n, bits: 16n },
  f32: { exponent: 0x7f800000n, mantissaBits: 23n, bits: 32n },
  f64: { exponent: 0x7ff0000000000000n, mantissaBits: 52n, bits: 64n },
};

/**
 * A NaN with a random sign and payload that no GPU computes: neither all ones (the result of conversions and arithmetic)
 * nor the first quiet NaN (a host's result).
 */
function nanPattern({ dtype }: PlannedBuffer, stream: RandomStream): Uint8Array {
  const { exponent, mantissaBits, bits } = NAN_BITS[dtype]!;
  const payloads = (1n << mantissaBits) - 1n;
  const quiet = 1n << (mantissaBits - 1n);
  let payload = 1n + (((BigInt(stream.bits(1)) << 32n) | BigInt(stream.bits(2))) % payloads);
  if (payload === payloads || payload === quiet) payload = 1n;
  const sign = BigInt(stream.bits(3) & 1) << (bits - 1n);
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, sign | exponent | payload, true);
  return new Uint8Array(view.buffer, 0, Number(bits / 8n));
}

/** A value such as an output could hold. */
function plausiblePattern({ dtype }: PlannedBuffer, stream: RandomStream): Uint8Array {
  const value = isFloating(dtype) ? 0.25 * stream.normal(4) || 0.125 : 1 + (stream.bits(4) % 100);
  return encode([value], dtype);
}

/**
 * Share of elements equal to a plausible pattern from which an output is suspect. Right outputs may be as uniform, so the
 * oracle decides.
 */
const PLAUSIBLE_SHARE = 0.25;

/** The poison of one output in one slot: half NaNs (where the dtype has them), a quarter plausible, a quarter stale. */
export function drawPoison(buffer: PlannedBuffer, stream: RandomStream): SlotPoison {
  const choice = stream.bits(0) % 4;
  if (choice === 3) return { kind: 'stale' };
  const elementCount = Math.floor(buffer.bytes / sizeOfDType(buffer.dtype));
  const paddingCount = Math.max(0, elementCount - elementCountOf(buffer));
  if (choice < 2 && isFloating(buffer.dtype))
    return { kind: 'nan', pattern: nanPattern(buffer, stream), mayHold: paddingCount };
  const mayHold = paddingCount + Math.ceil(PLAUSIBLE_SHARE * (elementCount - paddingCount));
  return { kind: 'plausible', pattern: plausiblePattern(buffer, stream), mayHold };
}
