import { BULK_COPY_CASES } from './bulk-copy-cases.ts';
import { CLUSTER_CASES } from './cluster-cases.ts';
import { FORM_CASES } from './form-cases.ts';
import { MATRIX_CASES } from './matrix-cases.ts';
import { MBARRIER_CASES } from './mbarrier-cases.ts';
import { MMA_CASES } from './mma-cases.ts';
import type { RecordedCase } from './recorded-case.ts';
import { SUBNORMAL_SUM_CASES } from './subnormal-sum-cases.ts';
import { TENSOR_COPY_CASES } from './tensor-copy-cases.ts';
import { WGMMA_CASES } from './wgmma-cases.ts';

export const RECORDED_CASES: readonly RecordedCase[] = [
  ...WGMMA_CASES,
  ...MMA_CASES,
  ...MATRIX_CASES,
  ...TENSOR_COPY_CASES,
  ...BULK_COPY_CASES,
  ...CLUSTER_CASES,
  ...MBARRIER_CASES,
  ...FORM_CASES,
  ...SUBNORMAL_SUM_CASES,
];
