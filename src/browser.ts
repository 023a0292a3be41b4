/**
 * The part of warpsmith that runs in a page: PTX in, results, counters, a predicted time and findings out. No Node, no
 * worker, no network. Bundled by `npm run build:browser` into dist/browser/warpsmith.js.
 */

export { sumCounters } from './core/sum-counters.ts';
export { FINDING_IDS, STRATEGY_NAMES } from './core/vocabulary.ts';
export { diagnose } from './diagnosis/diagnose.ts';
export { PATTERNS } from './diagnosis/patterns/index.ts';
export { DEVICE_SPECS } from './hardware/device-specs.ts';
export { modelLaunch } from './hardware/launch-model/model-launch.ts';
export { predictTime } from './hardware/launch-model/predict-time.ts';
export { occupancy } from './hardware/occupancy.ts';
export { parsePtx } from './ptx/parse.ts';
export { createStrategy } from './search/strategies.ts';
export { compileKernel } from './virtual-gpu/compile-kernel.ts';
export { type InlineLaunch, type InlineOutcome, type InlineRequest, runInline } from './virtual-gpu/run-inline.ts';
