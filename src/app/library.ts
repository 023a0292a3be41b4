import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import { suggestName } from '../core/nearest-name.ts';
import type { CommandName } from '../core/requests/commands.ts';
import type { RELEASE } from '../core/requests/options.ts';
import { completeRequest, fieldsOf, type RequestOf } from '../core/requests/request.ts';
import type { CompareView } from '../reports/documents/compare.ts';
import type { GateView } from '../reports/documents/gate.ts';
import type { InspectView } from '../reports/inspect-view.ts';
import { type DeviceOfRun, deviceOfCandidates } from './candidate-target.ts';
import { compareCandidates } from './compare.ts';
import { defaultDevice } from './devices.ts';
import { evaluateKernel } from './evaluate.ts';
import { type ExportReport, exportCandidate } from './export.ts';
import { exportTorch, type TorchExportReport } from './export-torch.ts';
import { gateChange } from './gate/gate.ts';
import { inspectCandidate } from './inspect.ts';
import { type OptimizeOutcome, type OptimizeRequest, optimizeProblem } from './optimize.ts';
import type { OnDevice, Surroundings } from './session.ts';

/** What a command is asked, with what surrounds it: an `AbortSignal`, a question for trust, a listener for steps. */
export type Asked<N extends CommandName> = Omit<RequestOf<N>, keyof typeof RELEASE> & Surroundings;

/** Fields of every request that are no options of its command. */
const SURROUNDING: readonly string[] = ['signal', 'askTrust', 'onStep', 'onEvent', 'onStage'];

/** JavaScript does not look at types: a misspelt field would be left out in silence. @throws WarpsmithError `unknown-field`. */
function refuseUnknown(name: CommandName, request: object, others: readonly string[] = []): void {
  const all = [...fieldsOf(name), ...SURROUNDING];
  const known = all.filter((field) => !others.includes(field));
  const unknown = Object.keys(request).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw new WarpsmithError({
    code: 'unknown-field',
    message: `A request to ${name} has no field \`${unknown}\`.`,
    path: unknown,
    received: unknown,
    expected: `one of ${known.join(', ')}`,
    hint: suggestName(unknown, known, 'Fields'),
  });
}

/** As the command line chooses: the device that is named, that of the run at hand, the first GPU, or `virtual:l4`. */
function onDevice<R extends { readonly device?: string; readonly replay?: string }>(
  name: CommandName,
  request: R,
  ofRun: () => DeviceOfRun | undefined = () => undefined,
): OnDevice<R> {
  refuseUnknown(name, request);
  const replayed = request.replay === undefined ? undefined : 'recorded';
  return { ...request, device: request.device ?? replayed ?? ofRun()?.device ?? defaultDevice() };
}

/**
 * Judges one kernel on one workload: compiles it, verifies it against the problem's reference, counts, times and diagnoses.
 *
 * @param request as `warpsmith evaluate` takes it: `target` is a kernel folder, a problem folder (its start) or a bundled
 * name such as `softmax/03_online`. `parameters` are compile-time values by name.
 * @returns the evaluation; whatever a kernel does is a `status`, not an exception. `timing.medianNs` is in nanoseconds, and
 * `timing.kind` says whether it is `predicted` or `measured`. `counters` are sums over the launch sequence: instructions are
 * warp instructions, sectors have 32 bytes.
 * @throws WarpsmithError `unknown-field`; for files, parameters, workloads or launch plans that can't be used; for a missing compiler or
 * device (`exitCode` 3); for a problem whose reference may not run (`untrusted`).
 */
export const evaluate = async (request: Asked<'evaluate'>): Promise<Evaluation> =>
  evaluateKernel(onDevice('evaluate', request));

/**
 * Searches for a faster kernel of a problem: evaluates the start, changes one thing, keeps or reverts, until the goal, the
 * bound or a budget is reached. Writes a run folder with log, reports and the best kernel below `store`.
 *
 * @param request as `warpsmith optimize` takes it, for one kernel over all workloads. `onEvent` sees every event as it is
 * logged; `signal` interrupts, and what was found so far is kept.
 * @returns `result.best` (absent if not even the start passed), `result.speedup` (start's time ÷ best's time; of a measured run
 * the confirmed ratio, absent if it was not confirmed), `view` as `--json` prints it, and where the files lie.
 * @throws WarpsmithError as {@link evaluate}; `conflicting-options`; `unknown-strategy`; for goals below the provable bound.
 */
export async function optimize(
  request: Asked<'optimize'> & Pick<OptimizeRequest, 'onEvent' | 'onStage'>,
): Promise<OptimizeOutcome> {
  if (request.objective === 'per-workload') throw oneKernel();
  return optimizeProblem(onDevice('optimize', request));
}

const oneKernel = (): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message: '`optimize` searches one kernel for all workloads.',
    path: 'objective',
    received: 'per-workload',
    expected: 'geometric-mean',
    hint: 'Call `optimizePerWorkload`, which returns a dispatch table and a run for each workload.',
  });

/**
 * Judges two candidates of one problem and compares their times: measured in the same blocks on a GPU, with a verdict and a
 * 95 % interval; as a ratio of predictions on a virtual device.
 *
 * @param request as `warpsmith compare` takes it: `baseline` and `candidate` are kernel folders, runs (their best), `RUN/e12`
 * or candidate ids.
 * @returns a row for each workload; `ratio` is the baseline's time ÷ the candidate's, `null` where one has no valid time.
 * @throws WarpsmithError `different-problems`, `different-devices`; for what does not name a candidate; as {@link evaluate}.
 */
export async function compare(request: Asked<'compare'>): Promise<CompareView> {
  const { baseline, candidate, store } = completeRequest('compare', request);
  return compareCandidates(onDevice('compare', request, () => deviceOfCandidates([baseline, candidate], store)));
}

/**
 * Judges the kernels that a change of a git repository touches, beside what they were where it left `base`. Only reads the
 * repository.
 *
 * @param request as `warpsmith gate` takes it: `folder` lies in the work tree, `base` is a commit, branch or tag.
 * @returns a row for each touched kernel, and in it for each workload; `passes`, and what refuses the change in `failing`.
 * @throws WarpsmithError `not-a-repository`, `unknown-ref`, `shallow-clone`, `no-common-commit`; as {@link evaluate}. Mistakes in a
 * kernel's files are part of what it returns.
 */
export async function gate(request: Omit<Asked<'gate'>, FileField>): Promise<GateView> {
  refuseUnknown('gate', request, FILE_FIELDS);
  return gateChange(onDevice('gate', request));
}

/** What a caller writes as it likes: `printMarkdown(gateDocument(view))`, `sarifOf(view, …)`. */
const FILE_FIELDS = ['markdown', 'sarif'] as const satisfies readonly (keyof RequestOf<'gate'>)[];
type FileField = (typeof FILE_FIELDS)[number];

/**
 * Says what each line of a candidate's source costs: warp instructions, requests and sectors (32 bytes), wavefronts of shared
 * memory, and the PTX it became.
 *
 * @param request as `warpsmith inspect` takes it; `target` names a candidate as in {@link compare}.
 * @returns `lines` in source order, `hot` with the costliest first. Shares are 0…1 of the launch sequence.
 * @throws WarpsmithError for what does not name a candidate; as {@link evaluate}.
 */
export async function inspect(request: Asked<'inspect'>): Promise<InspectView> {
  const { target, store } = completeRequest('inspect', request);
  return inspectCandidate(onDevice('inspect', request, () => deviceOfCandidates([target], store)));
}

/**
 * Writes a candidate for use without warpsmith: the kernel with its parameters baked in, a C++ launch header, an example, a
 * patch against the start and a file that says how to reproduce it. Called so because `export` is a word of the language.
 *
 * @param request as `warpsmith export` takes it; `output` is the folder, new or empty. Nothing is committed.
 * @returns the folder, its files, and the evidence in sentences.
 * @throws WarpsmithError for what does not name a candidate; `folder-not-empty`; `export-needs-cuda-source`.
 */
export async function exportKernel(
  request: Omit<RequestOf<'export'>, 'output' | 'commit' | TorchField> & { readonly output: string },
): Promise<ExportReport> {
  refuseUnknown('export', request, ['commit', ...TORCH_FIELDS]);
  return exportCandidate(request);
}

const TORCH_FIELDS = ['torch', 'architectures', 'toolchain'] as const satisfies readonly (keyof RequestOf<'export'>)[];
type TorchField = (typeof TORCH_FIELDS)[number];

/**
 * Writes a Python package for PyTorch: machine code of a candidate, or of all kernels of a dispatch table, with an operator that
 * launches it. NVRTC or nvcc compiles; no GPU is needed.
 *
 * @param request as `warpsmith export --torch` takes it; `torch` is the folder, new or empty, `architectures` such as `sm_90a`.
 * @returns the folder, the package's name and function, and its kernels with their architectures.
 * @throws WarpsmithError for what does not name a candidate; `no-compiler` (`exitCode` 3); `does-not-compile`;
 * `no-code-for-architecture`; `folder-not-empty`.
 */
export async function exportForTorch(
  request: Omit<RequestOf<'export'>, 'output' | 'commit'> & { readonly torch: string } & Pick<
      Surroundings,
      'signal' | 'onStep'
    >,
): Promise<TorchExportReport> {
  refuseUnknown('export', request, ['output', 'commit']);
  return exportTorch(request);
}
