import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import { serveTasks } from '../../../process/serve-tasks.ts';
import { drawInputs } from '../draw-inputs.ts';
import { expectationsFrom } from '../expectations.ts';
import type { OracleTasks } from './oracle-tasks.ts';

/* A thread that draws inputs of checks and works out tolerances from what the reference gave. It runs nothing of the user's. */

const TASKS: { readonly [T in keyof OracleTasks]: (take: OracleTasks[T]['take']) => OracleTasks[T]['give'] } = {
  draw: ({ folder, file, ...key }) =>
    drawInputs({ problem: { folder, file }, buffers: expandBuffers(file, key.dimensions), ...key }),
  expect: ({ file, dimensions, runs }) => expectationsFrom({ file }, expandBuffers(file, dimensions), dimensions, runs),
};

serveTasks(TASKS);
