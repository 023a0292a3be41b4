import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { LANES_PER_WARP, LINE_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { INSTRUCTION_CLASSES, type InstructionClass } from '../../core/vocabulary.ts';
import { machineInstructions, type Pipe, pipeOf } from './class-costs.ts';
import { ATOMIC_CLOCKS } from './constants.ts';
import type { Schedule } from './schedule.ts';
import { sharedLoads, type Traffic } from './traffic.ts';

/** A resource's demand: clocks one CTA keeps it busy on its SM, or chip-wide clocks of the whole launch. */
export interface Demand {
  readonly resource: string;
  readonly scope: 'sm' | 'chip';
  /** Clocks per CTA (scope sm) or per launch (scope chip). */
  readonly clocks: number;
  readonly arithmetic: string;
}

const machineInstructionsOf = (launch: LaunchCounters, classes: readonly InstructionClass[]): number =>
  classes.reduce((sum, name) => sum + launch.instructionsByClass[name] * machineInstructions(name), 0);

/** Warp instructions that the machine code is estimated to issue. */
const issuedInstructions = (launch: LaunchCounters): number =>
  launch.warpTime
    ? launch.warpTime.wide.issued + launch.warpTime.narrow.issued
    : machineInstructionsOf(launch, INSTRUCTION_CLASSES);

/** Those of them that one pipe executes. */
const onPipe = (launch: LaunchCounters, pipe: Pipe): number =>
  machineInstructionsOf(
    launch,
    INSTRUCTION_CLASSES.filter((name) => pipeOf(name) === pipe),
  );

interface SmResource {
  readonly resource: string;
  /** What is counted, over the whole launch. */
  readonly amount: number;
  readonly unit: string;
  /** Amount per clock per SM. */
  readonly rate: number;
}

function pipeResource(launch: LaunchCounters, pipe: Pipe, lanesPerClock: number): SmResource {
  return {
    resource: pipe,
    amount: onPipe(launch, pipe),
    unit: 'warp instructions',
    rate: lanesPerClock / LANES_PER_WARP,
  };
}

function smResources(launch: LaunchCounters, traffic: Traffic, schedule: Schedule, spec: DeviceSpec): SmResource[] {
  const schedulersUsed = Math.min(spec.schedulersPerSm.value, schedule.residentCtas * schedule.warpsPerCta);
  const globalRequests =
    launch.globalLoadRequests +
    launch.globalStoreRequests +
    launch.localLoadRequests +
    launch.localStoreRequests +
    launch.globalAtomicRequests;
  const sharedWavefronts = sharedLoads(launch).wavefronts + launch.sharedStoreWavefronts + launch.sharedAtomicRequests;
  // The vector pipes of idle schedulers do nothing: a CTA of one warp reaches a quarter of the SM.
  const share = schedulersUsed / spec.schedulersPerSm.value;
  return [
    { resource: 'issue', amount: issuedInstructions(launch), unit: 'instructions', rate: schedulersUsed },
    // fp32 lanes also execute the integer multiply-adds and conversions' halves; kept apart here.
    pipeResource(launch, 'fp32', spec.fp32PerClock.value * share),
    pipeResource(launch, 'fp16', spec.fp16PerClock.value * share),
    pipeResource(launch, 'fp64', spec.fp64PerClock.value),
    pipeResource(launch, 'integer', spec.integerPerClock.value * share),
    pipeResource(launch, 'conversion', spec.conversionPerClock.value * share),
    pipeResource(launch, 'special', spec.specialPerClock.value * share),
    { resource: 'tensor', amount: launch.flop.tensor, unit: 'FLOP', rate: spec.tensorFp16FlopPerClock.value * share },
    { resource: 'shared', amount: sharedWavefronts, unit: 'wavefronts', rate: spec.sharedWavefrontsPerClock.value },
    // Shuffles pass through the same crossbar at one warp per clock.
    pipeResource(launch, 'shuffle', LANES_PER_WARP),
    { resource: 'lsu', amount: globalRequests, unit: 'global requests', rate: spec.lsuRequestsPerClock.value },
    { resource: 'l1', amount: traffic.l1Wavefronts * LINE_BYTES, unit: 'B of lines', rate: spec.l1BytesPerClock.value },
  ];
}

/** Clocks of all global atomics: what the lines' turns take, and at least what spread ones take. */
function atomicsDemand(launch: LaunchCounters): Demand {
  const { globalAtomicRequests: requests, globalAtomicTurns: turns, globalAtomicSectors: sectors } = launch;
  const scattered = requests * ATOMIC_CLOCKS.spread;
  const lines = Math.max(1, launch.globalAtomicLines ?? launch.distinctSectorsWritten / SECTORS_PER_LINE);
  if (turns === undefined) {
    const perRequest = Math.max(
      ATOMIC_CLOCKS.spread,
      ATOMIC_CLOCKS.oneAddress / Math.max(1, launch.distinctSectorsWritten),
    );
    return {
      resource: 'atomics',
      scope: 'chip',
      clocks: requests * perRequest,
      arithmetic:
        `${figure(requests)} requests on at most ${figure(launch.distinctSectorsWritten)} sectors` +
        ` × ${figure(perRequest)} clocks`,
    };
  }
  const others = Math.max(0, (sectors ?? 0) - requests);
  const { turn, anotherSector } = ATOMIC_CLOCKS;
  const inTurn = (turns * turn + others * anotherSector) / lines;
  return {
    resource: 'atomics',
    scope: 'chip',
    clocks: Math.max(inTurn, scattered),
    arithmetic:
      `(${figure(turns)} turns × ${turn} + ${figure(others)} other sectors × ${anotherSector} clocks) ÷ ${figure(lines)} lines` +
      (inTurn < scattered ? `; at least ${figure(scattered)} clocks for ${figure(requests)} requests` : ''),
  };
}

function chipDemands(launch: LaunchCounters, traffic: Traffic, spec: DeviceSpec): Demand[] {
  const clockHz = spec.sustainedClockHz.value;
  const dramRate = spec.dramBytesPerSecond.value * spec.dramAttainableRatio.value;
  return [
    atomicsDemand(launch),
    {
      resource: 'l2',
      scope: 'chip',
      clocks: traffic.l2Bytes / spec.l2BytesPerClock.value,
      arithmetic: `${figure(traffic.l2Bytes)} B ÷ ${spec.l2BytesPerClock.value} B/clock`,
    },
    {
      resource: 'dram',
      scope: 'chip',
      clocks: (traffic.dramBytes / dramRate) * clockHz,
      arithmetic: `${figure(traffic.dramBytes)} B ÷ ${figure(dramRate / 1e9)} GB/s`,
    },
  ];
}

/** Every throughput demand of one launch, without idle resources. */
export function throughputDemands(
  launch: LaunchCounters,
  traffic: Traffic,
  schedule: Schedule,
  spec: DeviceSpec,
): Demand[] {
  const ctaCount = Math.max(1, launch.ctaCount);
  const perSm = smResources(launch, traffic, schedule, spec).map((item): Demand => {
    const perCta = item.amount / ctaCount;
    return {
      resource: item.resource,
      scope: 'sm',
      clocks: perCta / item.rate,
      arithmetic: `${figure(perCta)} ${item.unit} per CTA ÷ ${figure(item.rate)} per clock`,
    };
  });
  return [...perSm, ...chipDemands(launch, traffic, spec)].filter((demand) => demand.clocks > 0);
}
