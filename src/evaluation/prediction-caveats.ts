import type { CompiledCode, Diagnostic } from '../core/compiled-code.ts';
import { type Wait, waitsIn } from '../ptx/waits.ts';

const LEFT_OUT: Readonly<Record<Wait['kind'], string>> = {
  sleep: 'the prediction leaves out __nanosleep: the kernel sleeps, and is slower than predicted',
  poll:
    'the prediction leaves out waiting for other CTAs: a loop reads what they may write; a chain of CTAs that wait for one ' +
    'another is slower than predicted',
};

/** Notes on effects that a prediction leaves out; one note per kind, at its first place. */
export function predictionCaveats(code: CompiledCode): Diagnostic[] {
  if (code.kind !== 'ptx') return [];
  const waits = waitsIn(code.text);
  return (Object.keys(LEFT_OUT) as Wait['kind'][]).flatMap((kind) => {
    const first = waits.find((wait) => wait.kind === kind);
    return first ? [{ severity: 'note', message: LEFT_OUT[kind], location: first.source }] : [];
  });
}
