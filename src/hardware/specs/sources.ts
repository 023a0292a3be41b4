// Where the figures of the device specs come from; each spec entry names one of these. Constants, and not one object, because bundles shorten their names.
export const l4Datasheet = 'NVIDIA L4 Tensor Core GPU datasheet (2023)';
export const l4TechPowerUp = 'TechPowerUp GPU database, NVIDIA L4 (AD104)';
export const adaWhitepaper = 'NVIDIA Ada GPU Architecture whitepaper v2.02';
export const adaDatasheet = 'NVIDIA Ada GPU Architecture whitepaper v2.02, appendix A: GeForce RTX 4090';
export const a100Datasheet = 'NVIDIA A100 Tensor Core GPU datasheet (2021), A100 80GB SXM';
export const ampereWhitepaper = 'NVIDIA A100 Tensor Core GPU Architecture whitepaper v1.0';
export const h100Datasheet = 'NVIDIA H100 Tensor Core GPU datasheet (2023), H100 SXM';
export const h200Datasheet = 'NVIDIA H200 Tensor Core GPU datasheet (2024)';
export const hopperWhitepaper = 'NVIDIA H100 Tensor Core GPU Architecture whitepaper v1.04';
export const hopperTuningGuide = 'CUDA Hopper Tuning Guide, section 1.4';
export const ampereTuningGuide = 'CUDA Ampere Tuning Guide, section 1.4';
export const computeCapabilities =
  'CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability"';
export const throughput = 'CUDA C++ Programming Guide, table "Throughput of Native Arithmetic Instructions"';
export const occupancyHeader = 'cuda_occupancy.h of the CUDA toolkit (allocation granularities)';
export const sharedReservation =
  'CUDA C++ Programming Guide: "CUDA reserves 1 KB of shared memory per thread block" (8.x and 9.0)';
export const hopperBenchmarks = 'arXiv 2402.13499, memory latency and throughput tables (RTX 4090 / A100 / H100)';
export const ampereDissection = 'arXiv 2208.11174, instruction latencies of Ampere';
export const issueModel = 'arXiv 2503.20481 (issue rules and core model of modern NVIDIA GPUs)';
export const ownH200 = 'own measurement on one H200 SXM, 1980 MHz, CUDA 13.0, driver 580.159';
