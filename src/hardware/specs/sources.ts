/** Where the figures of the device specs come from; each spec entry names one of these. */
export const SOURCES = {
  l4Datasheet: 'NVIDIA L4 Tensor Core GPU datasheet (2023)',
  l4TechPowerUp: 'TechPowerUp GPU database, NVIDIA L4 (AD104)',
  adaWhitepaper: 'NVIDIA Ada GPU Architecture whitepaper v2.02',
  h200Datasheet: 'NVIDIA H200 Tensor Core GPU datasheet (2024)',
  hopperWhitepaper: 'NVIDIA H100 Tensor Core GPU Architecture whitepaper v1.04',
  hopperTuningGuide: 'CUDA Hopper Tuning Guide, section 1.4',
  computeCapabilities: 'CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability"',
  throughput: 'CUDA C++ Programming Guide, table "Throughput of Native Arithmetic Instructions"',
  occupancyHeader: 'cuda_occupancy.h of the CUDA toolkit (allocation granularities)',
  sharedReservation: 'CUDA C++ Programming Guide: "CUDA reserves 1 KB of shared memory per thread block" (8.x and 9.0)',
  hopperBenchmarks: 'arXiv 2402.13499, memory latency and throughput tables (RTX 4090 / A100 / H100)',
  ampereDissection: 'arXiv 2208.11174, instruction latencies of Ampere',
  issueModel: 'arXiv 2503.20481 (issue rules and core model of modern NVIDIA GPUs)',
  ownH200: 'own measurement on one H200 SXM, 1980 MHz, CUDA 13.0, driver 580.159',
} as const;
