import type { InstructionClass } from '../../../core/vocabulary.ts';

/*
 * SASS opcodes in the classes of PTX instructions. Source: CUDA binary utilities, instruction set reference (Volta to
 * Hopper); a leading U marks the uniform datapath.
 */
const OPCODES: Readonly<Record<InstructionClass, string>> = {
  fp16: 'HADD2 HFMA2 HMUL2 HMNMX2 VHMNMX',
  fp32: 'FADD FFMA FMUL FMNMX FSWZADD FCHK FADD32I FFMA32I FMUL32I',
  fp64: 'DADD DFMA DMUL',
  integer:
    'IADD3 IADD IADD32I IMAD IMUL IMUL32I IMNMX ISCADD LEA LOP LOP3 LOP32I SHF SHL SHR PRMT POPC FLO BREV BMSK SGXT IABS IDP IDP4A VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 UIADD3 UIMAD ULEA ULOP ULOP3 ULOP32I USHF USHL USHR UPRMT UPOPC UFLO UBREV UBMSK USGXT UIABS UIMNMX UVIADD UVIMNMX',
  conversion: 'F2F F2I I2F I2I F2FP F2IP I2FP I2IP FRND UF2FP UI2FP UF2F UF2I UI2F',
  special: 'MUFU',
  tensor: 'HMMA IMMA BMMA DMMA QMMA HGMMA IGMMA BGMMA QGMMA',
  move: 'MOV MOV32I UMOV SEL USEL FSEL CSEL S2R S2UR CS2R R2UR R2B B2R P2R R2P UP2UR UR2UP LEPC GETLMEMBASE PSETP',
  predicate: 'ISETP FSETP DSETP HSETP2 FSET ISET HSET2 PLOP3 UISETP UPLOP3 UPSETP FCMP ICMP',
  'global-load': 'LD LDG TEX TLD TLD4 TMML TXD TXQ SULD LD_E',
  'global-store': 'ST STG SUST',
  'shared-load': 'LDS LDSM',
  'shared-store': 'STS STSM',
  'local-load': 'LDL',
  'local-store': 'STL',
  'constant-load': 'LDC ULDC LDCU',
  atomic: 'ATOM ATOMG ATOMS RED REDG SUATOM SURED UTMAREDG UBLKRED',
  shuffle: 'SHFL MOVM',
  vote: 'VOTE VOTEU MATCH REDUX ELECT UELECT CREDUX',
  barrier: 'BAR UCGABAR_ARV UCGABAR_WAIT SYNCS MEMBAR FENCE ERRBAR WARPGROUP WARPGROUPSET ARRIVES CGAERRBAR',
  control:
    'BRA BRX JMP JMX BRXU JMXU CALL RET EXIT BSSY BSYNC BREAK BMOV WARPSYNC YIELD NANOSLEEP KILL BPT NOP RPCMOV RTT ACQBULK PREEXIT USETMAXREG SETCTAID SETLMEMBASE DEPBAR PMTRIG ENDCOLLECTIVE',
  'async-copy': 'LDGSTS LDGDEPBAR CCTL CCTLL CCTLT UTMALDG UTMASTG UTMAPF UTMACMDFLUSH UTMACCTL UBLKCP UBLKPF',
};

const CLASS_OF_OPCODE: ReadonlyMap<string, InstructionClass> = new Map(
  Object.entries(OPCODES).flatMap(([name, opcodes]) =>
    opcodes.split(' ').map((opcode) => [opcode, name as InstructionClass] as const),
  ),
);

/** Modifiers that change an opcode's class: IMAD.MOV.U32 moves, HADD2.F32 widens a half. */
const MOVING = /^(IMAD|UIMAD)\.MOV\b/;
const WIDENING = /^HADD2\.F32\b/;

/** Class of a SASS opcode with or without modifiers, e.g. `LDG.E.128`; undefined for one that is not in the table. */
export function sassClass(opcode: string): InstructionClass | undefined {
  if (MOVING.test(opcode)) return 'move';
  if (WIDENING.test(opcode)) return 'conversion';
  return CLASS_OF_OPCODE.get(opcode.split('.')[0]!);
}

/** Bytes each lane moves with a load or store: 4 unless a modifier says otherwise. */
export function accessBytes(opcode: string): number {
  const match = /\.(U8|S8|U16|S16|64|128|256)\b/.exec(opcode);
  const bits = { U8: 8, S8: 8, U16: 16, S16: 16, 64: 64, 128: 128, 256: 256 }[match?.[1] ?? ''] ?? 32;
  return bits / 8;
}

const WARPS_PER_WARPGROUP = 4;

/**
 * FLOP of one warp's instruction on the tensor cores, e.g. `HMMA.16816.F32` (m16n8k16), `HGMMA.64x128x16.F32` (each of a
 * warpgroup's four warps issues it, for a quarter of the rows); 0 for integer ones. Undefined where no shape is given.
 */
export function tensorFlop(opcode: string): number | undefined {
  if (/^(IMMA|BMMA|IGMMA|BGMMA)\b/.test(opcode)) return 0;
  const group = /^(?:HGMMA|QGMMA)\.(\d+)x(\d+)x(\d+)/.exec(opcode);
  if (group) return (2 * Number(group[1]) * Number(group[2]) * Number(group[3])) / WARPS_PER_WARPGROUP;
  const digits = /^(?:HMMA|QMMA|DMMA)\.(\d+)/.exec(opcode)?.[1];
  const shape = digits === undefined ? undefined : WARP_SHAPES[digits];
  return shape && 2 * shape[0] * shape[1] * shape[2];
}

/** m, n and k run together in the modifier. */
const WARP_SHAPES: Readonly<Record<string, readonly [number, number, number]>> = {
  '884': [8, 8, 4],
  '1684': [16, 8, 4],
  '1688': [16, 8, 8],
  '16816': [16, 8, 16],
  '16832': [16, 8, 32],
};

/** FLOP of one lane of a vector instruction, by precision. Undefined if it is not floating-point arithmetic. */
export function vectorFlop(opcode: string): { kind: 'fp16' | 'fp32' | 'fp64'; count: number } | undefined {
  return WIDENING.test(opcode) ? undefined : VECTOR_FLOP[opcode.split('.')[0]!];
}

/** As on the virtual GPU: a fused multiply-add is two, minima and special functions one, and HFMA2 works on two halves. */
const VECTOR_FLOP: Readonly<Record<string, { kind: 'fp16' | 'fp32' | 'fp64'; count: number }>> = {
  FADD: { kind: 'fp32', count: 1 },
  FMUL: { kind: 'fp32', count: 1 },
  FMNMX: { kind: 'fp32', count: 1 },
  FFMA: { kind: 'fp32', count: 2 },
  MUFU: { kind: 'fp32', count: 1 },
  HADD2: { kind: 'fp16', count: 2 },
  HMUL2: { kind: 'fp16', count: 2 },
  HMNMX2: { kind: 'fp16', count: 2 },
  HFMA2: { kind: 'fp16', count: 4 },
  DADD: { kind: 'fp64', count: 1 },
  DMUL: { kind: 'fp64', count: 1 },
  DFMA: { kind: 'fp64', count: 2 },
};
