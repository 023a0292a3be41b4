import type { PtxOperand } from '../../../ptx/ast.ts';
import { type Address, advance, type WarpContext } from '../warp-context.ts';
import { formatPrintf, type PrintArguments, printable } from './format.ts';

/** Longer texts are cut: a missing NUL is the usual cause. */
const MOST_BYTES = 4096;

/** What vprintf returns for a format at address 0. Source: CUDA C++ Programming Guide. */
const NO_FORMAT = -1;

const addressOf = (value: bigint): Address => ({ low: Number(value & 0xffffffffn), high: Number(value >> 32n) });

/** The text at a generic address, up to its NUL, without characters that are not to be printed. */
function textAt(context: WarpContext, address: bigint, lane: number, mostBytes = MOST_BYTES): string {
  const bytes: number[] = [];
  for (let at = addressOf(address); bytes.length < Math.min(mostBytes, MOST_BYTES); at = advance(at, 1)) {
    const { view, offset } = context.resolve(at, 'generic', 1, false, lane);
    const byte = view.getUint8(offset);
    if (byte === 0) break;
    bytes.push(byte);
  }
  return printable(new TextDecoder().decode(Uint8Array.from(bytes)));
}

/** Reads what the caller stored as C's `...`: each value at a multiple of its size. */
class StoredArguments implements PrintArguments {
  readonly #context: WarpContext;
  readonly #lane: number;
  #at: Address;

  constructor(context: WarpContext, lane: number, address: bigint) {
    this.#context = context;
    this.#lane = lane;
    this.#at = addressOf(address);
  }

  word(): number {
    const { view, offset } = this.#next(4);
    return view.getUint32(offset, true);
  }

  double(): bigint {
    const { view, offset } = this.#next(8);
    return view.getBigUint64(offset, true);
  }

  text(address: bigint, mostBytes: number | undefined): string | undefined {
    return address === 0n ? undefined : textAt(this.#context, address, this.#lane, mostBytes);
  }

  #next(bytes: number) {
    const aligned = advance(this.#at, (bytes - (this.#at.low % bytes)) % bytes);
    this.#at = advance(aligned, bytes);
    return this.#context.resolve(aligned, 'generic', bytes, false, this.#lane);
  }
}

/** vprintf: each lane prints its line. */
export function print(context: WarpContext): void {
  const [result, format, values] = context.operands as [PtxOperand, PtxOperand, PtxOperand];
  const formats = new Map<bigint, string>();
  for (const lane of context.lanes) {
    const address = context.double(format, lane);
    if (address === 0n) {
      context.setWord(result, lane, NO_FORMAT);
      continue;
    }
    const text = formats.get(address) ?? textAt(context, address, lane);
    formats.set(address, text);
    const { takesText } = context.printed;
    const stored = new StoredArguments(context, lane, context.double(values, lane));
    const printed = formatPrintf(text, stored, takesText);
    context.setWord(result, lane, printed.count);
    context.printed.add(context.ctaNumber, context.threadOf(lane), takesText ? printed.text : undefined);
  }
}

/**
 * __assertfail: prints what CUDA says of a failed assertion, of the first lane that has one. The fault has none of these texts: the
 * kernel chooses them, and whoever wrote it reads the fault's message, but not what is printed on secret inputs.
 */
export function failAssertion(context: WarpContext): never {
  const [condition, file, line, name] = context.operands as [PtxOperand, PtxOperand, PtxOperand, PtxOperand];
  const [lane] = context.lanes as [number];
  const text = (operand: PtxOperand): string => {
    const address = context.double(operand, lane);
    return address === 0n ? '' : textAt(context, address, lane);
  };
  const said = `${text(file)}:${context.word(line, lane)}: ${text(name)}: ${context.placeOf(lane)} Assertion \`${text(condition)}\` failed.`;
  context.printed.add(context.ctaNumber, context.threadOf(lane), `${said}\n`);
  throw context.fault('trap', 'an assertion failed', lane);
}
