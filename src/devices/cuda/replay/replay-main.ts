import { basename, dirname } from 'node:path';
import { writeTemporaryFile } from '../../../process/temporary-file.ts';
import { CudaContext } from '../worker/cuda-context.ts';
import { replay } from './replay.ts';
import { type ReplayRequest, type ReplayResult, readRequest, toFile } from './replay-request.ts';

/*
 * The program that profilers and sanitizers watch. It runs the launch sequences of a request file in a context of its own
 * and writes their results to a file. It prints nothing, because the surrounding tool uses the streams.
 */

async function run(request: ReplayRequest): Promise<ReplayResult> {
  try {
    const { ordinal, exactAllocations } = request;
    const context = CudaContext.open({ ordinal, exactAllocations });
    try {
      return await replay(request, context);
    } finally {
      context.close();
    }
  } catch (error) {
    return { runs: [], failure: error instanceof Error ? error.message : String(error) };
  }
}

const [, , requestPath, resultPath] = process.argv;
if (requestPath === undefined || resultPath === undefined) throw new Error('usage: replay-main <request> <result>');
const result = await run(readRequest(requestPath));
writeTemporaryFile(dirname(resultPath), basename(resultPath), toFile(result));
