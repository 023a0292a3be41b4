import { inject } from 'vitest';
import { chooseMembers } from './choose-members.ts';
import { itUnless, type Long, placeOfTest, sampledOne } from './matrix.ts';

/*
 * Long tests of one kind, in several files: each kind is a matrix. Where the code changes that they are about, all members
 * run. Of each kind some tests are no members, and run always; they are named below.
 */

/** What is interrupted or killed, and what is left then. Always: Ctrl-C in a search, in cli/optimize. */
export const interrupted = sampledOne(
  'what is interrupted',
  [
    'an agent, by Ctrl-C',
    'an agent, by SIGTERM',
    'a model that writes',
    'a kernel that never ends',
    'a search, by timeout',
    'a search, by a kill',
    'a comparison of contenders',
    'a gate, by SIGINT',
    'a gate, by SIGTERM',
    'a run at a terminal',
    'a reference',
    'runs at random moments: guided-measured',
    'runs at random moments: tpe',
    'two runs on one store',
    'one of two workers',
    'coordinator and worker of a queue',
  ],
  { oneIn: 8, placeOf: () => 'src/process' },
);

/** What an author does over MCP. Always: a turn over stdio, in mcp/turn. */
export const overMcp = sampledOne(
  'turns over MCP',
  [
    ...['attention', 'a restart', 'a search that would end at once', 'an older revision', 'told to end', 'killed'],
    'caught twice',
    'a planted condition',
  ],
  { oneIn: 6, placeOf: () => 'src/mcp' },
);

/** Authors that do too much, or nothing. Always: runs in which an agent, a model, and both climb. */
export const authorRun = sampledOne(
  'runs of authors',
  [
    ...['writes much', 'asks beyond its share', 'changes the problem', 'leaves a process', 'is silent'],
    ...['has no model', 'has spent its tokens'],
  ],
  { oneIn: 7, placeOf: () => 'src/app/author' },
);

/** What nvcc builds, each for many seconds. Always: what it compiles and refuses, of which toolchains/gpu-compilers has a sample of its own. */
export const nvccBuild = sampledOne(
  'builds by nvcc',
  [
    ...['dispatch table', 'export', 'hard header'],
    ...['10_wgmma half', '10_resident half', '11_sums_first half', '11_sums_first __nv_bfloat16'],
    ...[
      '13_decode_cluster',
      '14_decode_registers',
      '15_decode_words half',
      '15_decode_words __nv_bfloat16',
      '16_decode_stream',
      '17_lean_turns half',
      '18_ones_column half',
      '19_whole_domain half',
      '20_few_queries',
      '21_swapped_operands',
      '22_one_launch half',
      '22_one_launch __nv_bfloat16',
      '23_split_keys half',
      '24_resident_keys half',
      '25_even_shares half',
      '26_one_stream',
      '27_seen_keys half',
    ],
  ],
  {
    oneIn: 8,
    placeOf: (member) => (/^\d/.test(member) ? `problems/attention/${member.split(' ')[0]}` : 'src/handover'),
  },
);

/** Files with a long test that no other of the file resembles. */
const FILES = [
  'app/attention-on-l4',
  'app/loading/reference-in-python',
  'bench/soak',
  'bench/time-model',
  'cli/control-characters',
  'cli/log',
  'cli/real-gpus',
  'cli/terminal',
  'devices/cuda/harness/draw',
  'devices/cuda/harness/generated',
  'evaluation/audit/audit',
  'evaluation/instruments/profilers/without-counters',
  'evaluation/oracle/device-reference',
  'evaluation/sanitized-while-verified',
  'evaluation/verify/printed',
  'handover/dispatch',
  'handover/expressions',
  'problems/gemm',
  'optimizer/attention-climb',
  'process/entry-file',
  'ptx/check-operands',
  'stats/operating-characteristics',
  'store/index',
  'virtual-gpu/cooperative/evaluated',
].map((name) => `test/${name}.test.ts`);
const takes = chooseMembers('long tests of a file each', FILES, { oneIn: 3, placeOf: (file) => file }, inject('turn'));

/**
 * `it` for such a test: the files are one matrix.
 *
 * @param file `import.meta.filename` of the test file.
 */
export function longTestOf(file: string): Long {
  const index = FILES.indexOf(placeOfTest(file));
  if (index < 0) throw new Error(`${file} is no file with a long test.`);
  return itUnless(!takes[index]);
}
