import type { ListedDevice } from '../../devices/open-device.ts';
import type { CudaToolkit } from '../../toolchains/cuda-toolkit.ts';

/** One thing that kernels need on this machine. */
export interface DoctorCheck {
  id: string;
  title: string;
  /** `absent` is no failure: the part is not needed, or only for what `detail` names. */
  verdict: 'ok' | 'failed' | 'absent';
  detail: string;
  hint: string | null;
}

/** What several checks ask about. */
export interface Machine {
  readonly gpus: readonly ListedDevice[];
  readonly toolkit: CudaToolkit;
}

export type Diagnosis = Pick<DoctorCheck, 'verdict' | 'detail'> & { hint?: string };

export interface Check {
  readonly id: string;
  readonly title: string;
  readonly run: (machine: Machine) => Diagnosis | Promise<Diagnosis>;
}
