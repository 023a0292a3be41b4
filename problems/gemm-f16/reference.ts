/** The formula does not depend on the dtype: inputs arrive decoded, and `round` knows the storage dtype. */
export { reference } from '../gemm/reference.ts';
