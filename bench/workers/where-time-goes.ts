/**
 * What the seconds of whole runs went to, from their logs: `whole-runs.ts --keep` leaves them.
 *
 *     node bench/workers/where-time-goes.ts --beside 'what else the machine did' [--code 'which code ran'] EVENTS.jsonl …
 *       [--output docs/results/gpu-run-stages.json]
 *
 * Adds to the recording.
 */
import { parseArgs } from 'node:util';
import type { RunStages, RunStagesRecording, StageName } from '../../scripts/results/run-stages.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { ofType, type RecordedEvent } from '../../src/store/events.ts';
import { openRecording } from '../recording-file.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: 'docs/results/gpu-run-stages.json' },
    beside: { type: 'string', default: 'nothing' },
    code: { type: 'string', default: '' },
  },
});

const MS = 1000;
const rounded = (value: number): number => Number(value.toFixed(2));
const timeOf = (event: RecordedEvent): number => Date.parse(event.time) / MS;

/** What an evaluation was for. */
function purposeOf(evaluation: Evaluation, { iteration, isAfter, isConfirmed, main }: Place): StageName {
  if (isAfter && evaluation.workload.name !== main) return 'other workloads';
  if (isAfter) return isConfirmed ? 'ablation' : 'confirmation';
  if (iteration === 0) return 'start';
  return evaluation.timing?.measurement?.conditions.tier === 'accept' ? 'longer measurements' : 'screens';
}

interface Place {
  readonly iteration: number;
  readonly isAfter: boolean;
  readonly isConfirmed: boolean;
  readonly main: string;
}

function stagesOf(events: readonly RecordedEvent[]): RunStages {
  const [started] = ofType(events, 'run-started');
  const main = started!.workload.name;
  const counts = new Map<StageName, { count: number; seconds: number }>();
  const add = (stage: StageName, seconds: number): void => {
    const before = counts.get(stage) ?? { count: 0, seconds: 0 };
    counts.set(stage, { count: before.count + 1, seconds: before.seconds + seconds });
  };
  const longer = { blocks: 0, seconds: 0 };
  let [isAfter, isConfirmed] = [false, false];
  for (const event of events) {
    isAfter ||= event.type === 'search-ended';
    isConfirmed ||= event.type === 'confirmation';
    if (event.type !== 'evaluation-finished') continue;
    const { evaluation, iteration } = event;
    const stage = purposeOf(evaluation, { iteration, isAfter, isConfirmed, main });
    const profiling = (evaluation.profile?.elapsedMs ?? 0) / MS;
    if (profiling > 0) add('profiles', profiling);
    add(stage, evaluation.elapsedMs.total / MS - profiling);
    if (stage !== 'longer measurements') continue;
    longer.blocks += evaluation.timing!.measurement!.blocks.length;
    longer.seconds += evaluation.elapsedMs.time / MS - profiling;
  }
  const seconds = timeOf(events.at(-1)!) - timeOf(started!);
  const judged = [...counts.values()].reduce((sum, one) => sum + one.seconds, 0);
  counts.set('between evaluations', { count: 0, seconds: Math.max(0, seconds - judged) });
  const stages = [...counts].map(([stage, one]) => [stage, { ...one, seconds: rounded(one.seconds) }] as const);
  return {
    problem: started!.problem.name,
    workload: main,
    device: started!.device.name,
    processor: started!.environment?.processor ?? 'unknown',
    startedAt: started!.time,
    beside: options.beside,
    code: options.code,
    isWhole: ofType(events, 'run-finished').length > 0,
    seconds: rounded(seconds),
    evaluations: ofType(events, 'evaluation-finished').length,
    stages: Object.fromEntries(stages) as RunStages['stages'],
    secondsOfABlock: longer.blocks > 0 ? rounded(longer.seconds / longer.blocks) : null,
  };
}

const { recording, save } = await openRecording<RunStagesRecording>(options.output, () => ({
  schemaVersion: 1,
  runs: [],
}));
for (const file of positionals) {
  recording.runs.push(stagesOf(readEventLog(file).events));
  await save();
}
