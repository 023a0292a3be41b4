import type { CommandContext } from './context.ts';
import { canRedraw } from './live-area.ts';
import { createLiveProgress } from './live-progress.ts';
import { linesTo } from './output.ts';
import { createPlainProgress, type Progress } from './plain-progress.ts';

/** A few redrawn lines on a terminal; every step in lines of its own elsewhere, and where more is asked for. */
export const createProgress = (stream: NodeJS.WriteStream, { verbose = false } = {}): Progress =>
  canRedraw(stream) && !verbose ? createLiveProgress(stream) : createPlainProgress(stream);

type Told = Omit<Progress, 'end'> & { readonly onStep: (text: string) => void };

/** Shows how a run gets on; what is printed of its outcome comes behind that. */
export async function withProgress<T>(
  { streams, verbose }: CommandContext,
  work: (told: Told) => Promise<T>,
): Promise<T> {
  const { end, ...told } = createProgress(streams.err, { verbose });
  try {
    return await work({ ...told, onStep: linesTo(streams) });
  } finally {
    end();
  }
}
