import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { Finding } from '../../../src/core/finding.ts';
import type { Kernel, KernelFile, ParameterDeclaration, ParameterValues } from '../../../src/core/kernel.ts';
import type { Timing } from '../../../src/core/timing.ts';
import type { FindingId } from '../../../src/core/vocabulary.ts';
import type { PatternContext } from '../../../src/diagnosis/pattern.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { attentionShape } from '../../support/attention-problem.ts';

/** Of the kernels below, unless they are given others. */
export const PARAMETERS: Record<string, ParameterDeclaration> = {
  BLOCK_M: { values: [4, 8, 16, 32, 64], default: 64 },
  BLOCK_N: { values: [16, 32, 64], default: 32 },
  WARPS: { values: [1, 2, 4, 8], default: 4 },
  VECTOR_WIDTH: { values: [1, 2, 4, 8], default: 2 },
  PAD: { values: [0, 2, 8], default: 2 },
  STAGES: { values: [1, 2, 3], default: 1 },
};

export function kernel(name: string, remedies: string[], parameters = PARAMETERS): Kernel {
  const file: KernelFile = {
    schemaVersion: 1,
    name,
    description: '',
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    parameters,
    remedies,
    steps: [{ function: 'attention', grid: ['ceilDiv(S, BLOCK_M)', 'B * H'], block: ['32 * WARPS'], arguments: [] }],
  };
  return { folder: `/problems/attention/${name}`, file, sources: {} };
}

const finding = (id: FindingId, estimatedSpeedup = 3): Finding => ({
  id,
  title: '',
  estimatedSpeedup,
  arithmetic: '',
  evidence: [],
  advice: '',
});

export interface Situation {
  own?: Kernel;
  parameters?: ParameterValues;
  laterRungs?: Kernel[];
  dimensions?: Record<string, number>;
  timing?: Timing;
  speedup?: number;
  /** Its only launch, of a kernel that latency binds, with what a CTA took of the SM. */
  counted?: { ctaCount: number; sharedBytes: number };
}

const countedLaunch = ({ ctaCount, sharedBytes }: NonNullable<Situation['counted']>): Partial<Evaluation> => {
  const resources = { registersPerThread: 32, staticSharedBytes: 0, dynamicSharedBytes: sharedBytes };
  const bounds = [{ resource: 'latency', ns: 1e6, arithmetic: '' }];
  return {
    timing: { launches: [{ medianNs: 1e6, ctaCount, bounds, launchOverheadNs: 0 }] },
    counters: { launches: [{ resources }] },
  } as unknown as Partial<Evaluation>;
};

export function context(id: FindingId, situation: Situation = {}): PatternContext {
  const own = situation.own ?? kernel('02_tiled', []);
  const defaults = Object.fromEntries(
    Object.entries(own.file.parameters ?? {}).map(([name, declaration]) => [name, declaration.default]),
  );
  const { timing, counted } = situation;
  return {
    finding: finding(id, situation.speedup),
    evaluation: {
      status: 'passed',
      findings: [],
      ...(timing && { timing }),
      ...(counted && countedLaunch(counted)),
    } as unknown as Evaluation,
    candidate: { id: 'candidate', kernel: own, parameters: { ...defaults, ...situation.parameters } },
    laterRungs: situation.laterRungs ?? [],
    dimensions: situation.dimensions ?? attentionShape({ B: 1, H: 8, S: 512, D: 64, causal: 0 }),
    spec: DEVICE_SPECS.get('l4')!,
  };
}
