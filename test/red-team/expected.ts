import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KernelFile } from '../../src/core/kernel.ts';
import type { EvaluationStatus } from '../../src/core/status.ts';

export const RED_TEAM = import.meta.dirname;
export const ATTENTION = path.resolve(RED_TEAM, '../../problems/attention');

/**
 * Which stage sees through a kernel: the look at what it was compiled to, runs on checks, the checks around timed samples, compute-sanitizer, or what a virtual
 * GPU finds that verifies thoroughly what passed on a GPU. `nothing`: a GPU starts CTAs in ascending order, so what depends on that order comes out right there; the virtual GPU shuffles it.
 */
export const STAGES = ['compilation', 'verification', 'measurement', 'sanitizer', 'virtual GPU', 'nothing'] as const;
export type Stage = (typeof STAGES)[number];

/** What the referee must say of a kernel. */
export interface Verdict {
  /** Any of these. `passed` where the lie can't show on this kind of device, or only the sanitizer sees it. */
  readonly statuses: readonly EvaluationStatus[];
  /** Over the evaluation's reason. */
  readonly reason: RegExp;
  /** One of these. */
  readonly caughtBy: readonly Stage[];
  readonly workload: string;
  /** Only a thorough verification shows it. */
  readonly thorough: boolean;
  /** Why it may pass where its output is right: what it tries gains nothing. */
  readonly harmless?: string;
}

interface Declared {
  status: EvaluationStatus | EvaluationStatus[];
  /** Regular expression. */
  reasonMatches: string;
  caughtBy: Stage | Stage[];
  workload: string;
  thorough?: boolean;
  harmless?: string;
}

/** expected.json: for both kinds of device, with what differs on one of them. */
type ExpectedFile = Pick<Declared, 'status' | 'reasonMatches'> &
  Partial<Declared> & { virtual?: Partial<Declared>; cuda?: Partial<Declared> };

const DEFAULTS = { caughtBy: 'verification', workload: 'B=1,H=2,S=64,D=64,causal=0' } as const;

const listOf = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

/** What is expected of the red-team kernel on this kind of device. */
export const expectedOf = (kernel: string, kind: 'virtual' | 'cuda'): Verdict => {
  const file = JSON.parse(readFileSync(path.join(RED_TEAM, kernel, 'expected.json'), 'utf8')) as ExpectedFile;
  const {
    status,
    reasonMatches,
    caughtBy,
    workload,
    thorough = false,
    harmless,
  } = { ...DEFAULTS, ...file, ...file[kind] };
  return {
    statuses: listOf(status),
    reason: new RegExp(reasonMatches),
    caughtBy: listOf(caughtBy),
    workload,
    thorough,
    ...(harmless !== undefined && { harmless }),
  };
};

export const redTeamKernels = (): string[] =>
  readdirSync(RED_TEAM, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** What a kernel does, as its kernel.json says. */
export const lieOf = (kernel: string): string =>
  (JSON.parse(readFileSync(path.join(RED_TEAM, kernel, 'kernel.json'), 'utf8')) as KernelFile).description;
