import { sampledOne } from '../../support/sampling/matrix.ts';

/** Registers the test of one thing that is handed over, built by nvcc: each takes many seconds. */
export const nvccBuild = sampledOne('builds by nvcc', ['dispatch table', 'export', 'hard header'], { oneIn: 3 });
