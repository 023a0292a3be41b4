import { canRedraw } from './live-area.ts';
import { createLiveProgress } from './live-progress.ts';
import { createPlainProgress, type Progress } from './plain-progress.ts';

/** A few redrawn lines on a terminal; every step in lines of its own elsewhere, and where more is asked for. */
export const createProgress = (stream: NodeJS.WriteStream, { verbose = false } = {}): Progress =>
  canRedraw(stream) && !verbose ? createLiveProgress(stream) : createPlainProgress(stream);
