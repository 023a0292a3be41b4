import type { ProblemFile } from '../core/problem.ts';
import type { DispatchTable } from './dispatch-table.ts';
import { CppNames, commentText, identifierOf, stringLiteral } from './launch-header/cpp-names.ts';

/** As {@link chooseEntry} has it. */
const TIE = '1e-9';

/** C++11 that chooses a kernel for a call and launches it. */
export const dispatchHeader = (table: DispatchTable, problem: ProblemFile): string => {
  const folders = [...new Set([...table.entries.map(({ folder }) => folder), table.fallback.folder])];
  const fallback = folders.indexOf(table.fallback.folder);
  const name = `${identifierOf(table.problem)}_dispatch`;
  return [
    ...tableComment(table),
    '#pragma once',
    '',
    ...folders.map((folder) => `#include "${folder}/${folder}_launch.hpp"`),
    '',
    `namespace ${name} {`,
    '',
    `typedef ${table.fallback.folder}::Dimensions Dimensions;`,
    `typedef ${table.fallback.folder}::Buffers Buffers;`,
    `typedef ${table.fallback.folder}::Sizes Sizes;`,
    '',
    'namespace detail {',
    '',
    ...conversions(folders, problem),
    ...chooser(table, problem, folders),
    '',
    'inline double distance(double value, double other) {',
    '  const double difference = std::log(value < 1 ? 1 : value) - std::log(other < 1 ? 1 : other);',
    '  return difference * difference;',
    '}',
    '',
    '}  // namespace detail',
    '',
    '// The entry of the table a call goes to; -1 for the fallback.',
    'inline int choose(const Dimensions& dimensions) {',
    '  int chosen = -1;',
    '  double nearest = 0;',
    `  for (int entry = 0; entry < ${table.entries.length}; ++entry) {`,
    '    double away = 0;',
    '    if (!detail::measure(entry, dimensions, &away)) continue;',
    `    if (chosen >= 0 && !(away < nearest - ${TIE})) continue;`,
    '    chosen = entry;',
    '    nearest = away;',
    '  }',
    '  return chosen;',
    '}',
    '',
    '// Name of the workload whose winner a call gets, for logs.',
    'inline const char* chosen_workload(const Dimensions& dimensions) {',
    `  static const char* const names[] = {${['fallback', ...table.entries.map(({ workload }) => workload)].map(stringLiteral).join(', ')}};`,
    '  return names[choose(dimensions) + 1];',
    '}',
    '',
    ...entryPoint({
      folders,
      table,
      fallback,
      comment: 'Bytes of every buffer and of the workspace, for the kernel that the call goes to.',
      signature: 'sizes(const Dimensions& dimensions, Sizes* sizes, std::string* why = nullptr)',
      call: (folder, index) => [
        `      ${folder}::Sizes chosen;`,
        `      const cudaError_t error = ${folder}::sizes(detail::dimensions_${index}(dimensions), &chosen, why);`,
        `      if (error == cudaSuccess) *sizes = detail::sizes_${index}(chosen);`,
        '      return error;',
      ],
    }),
    ...entryPoint({
      folders,
      table,
      fallback,
      comment: 'Once for each workspace and each set of dimensions, before the first launch.',
      signature:
        'prepare(const Dimensions& dimensions, void* workspace, cudaStream_t stream, std::string* why = nullptr)',
      call: (folder, index) => [
        `      return ${folder}::prepare(detail::dimensions_${index}(dimensions), workspace, stream, why);`,
      ],
    }),
    ...entryPoint({
      folders,
      table,
      fallback,
      comment: 'Puts the chosen kernel on a stream. The workspace has at least sizes().workspace_bytes bytes.',
      signature:
        'launch(const Dimensions& dimensions, const Buffers& buffers, void* workspace, std::size_t workspace_bytes,\n                          cudaStream_t stream, std::string* why = nullptr)',
      call: (folder, index) => [
        `      return ${folder}::launch(detail::dimensions_${index}(dimensions), detail::buffers_${index}(buffers), workspace,`,
        '                      workspace_bytes, stream, why);',
      ],
    }),
    `}  // namespace ${name}`,
    '',
  ].join('\n');
};

const tableComment = ({ problem, device, entries, fallback }: DispatchTable): string[] => {
  const width = Math.max(8, ...entries.map(({ workload }) => commentText(workload).length));
  const row = (workload: string, rest: string): string =>
    `//   ${commentText(workload).padEnd(width)}  ${commentText(rest)}`;
  return [
    `// Dispatch table for ${commentText(problem)}, from ${commentText(device.name)} (${commentText(device.id)}):`,
    ...entries.map(({ workload, candidate, kind, medianNs }) =>
      row(workload, `${candidate.kernel} (${candidate.id}), ${kind} ${Number((medianNs / 1000).toPrecision(4))} us`),
    ),
    row('fallback', `${fallback.candidate.kernel} (${fallback.candidate.id})`),
    '//',
    '// A call goes to the entry with the same values of the dimensions that have but a few, nearest in the logarithms of the',
    '// others, among those whose kernel takes the call; of equally near ones to the first. Compile every *_launch.cu once.',
  ];
};

/** The structs of every kernel have the same members, but are types of their own. */
const conversions = (folders: readonly string[], problem: ProblemFile): string[] => {
  const fields = (names: readonly string[], taken: readonly string[] = []): string[] => {
    const given = new CppNames(taken);
    return names.map((name) => given.of(name));
  };
  const buffers = [...Object.keys(problem.inputs), ...Object.keys(problem.outputs)];
  const convert = (what: string, from: string, to: string, members: readonly string[]): string[] => [
    `inline ${to} ${what}(const ${from}& from) {`,
    `  ${to} to;`,
    ...members.map((member) => `  to.${member} = from.${member};`),
    '  return to;',
    '}',
  ];
  const sizeFields = ['workspace_bytes'];
  return folders.flatMap((folder, index) => [
    ...convert(`dimensions_${index}`, 'Dimensions', `${folder}::Dimensions`, fields(Object.keys(problem.dimensions))),
    ...convert(`buffers_${index}`, 'Buffers', `${folder}::Buffers`, fields(buffers)),
    ...convert(`sizes_${index}`, `${folder}::Sizes`, 'Sizes', [...fields(buffers, sizeFields), ...sizeFields]),
    '',
  ]);
};

const chooser = (table: DispatchTable, problem: ProblemFile, folders: readonly string[]): string[] => {
  const names = new CppNames();
  const declared = Object.entries(problem.dimensions).map(([name, declaration]) => ({
    name,
    field: names.of(name),
    isCategorical: declaration.values !== undefined,
  }));
  return [
    'inline double distance(double value, double other);',
    '',
    '// Whether an entry can have the call, and how far from it the entry is.',
    'inline bool measure(int entry, const Dimensions& dimensions, double* away) {',
    '  switch (entry) {',
    ...table.entries.flatMap(({ dimensions, folder, workload }, entry) => {
      const same = declared
        .filter(({ isCategorical }) => isCategorical)
        .map(({ name, field }) => `dimensions.${field} == ${dimensions[name]}`);
      const distances = declared
        .filter(({ isCategorical }) => !isCategorical)
        .map(({ name, field }) => `distance(static_cast<double>(dimensions.${field}), ${dimensions[name]}.0)`);
      return [
        `    case ${entry}:  // ${commentText(workload)}`,
        ...(same.length === 0 ? [] : [`      if (!(${same.join(' && ')})) return false;`]),
        `      *away = ${distances.length === 0 ? '0' : distances.join(' + ')};`,
        `      return ${folder}::takes(dimensions_${folders.indexOf(folder)}(dimensions));`,
      ];
    }),
    '  }',
    '  return false;',
    '}',
  ];
};

const entryPoint = ({
  folders,
  table,
  fallback,
  comment,
  signature,
  call,
}: {
  folders: readonly string[];
  table: DispatchTable;
  fallback: number;
  comment: string;
  signature: string;
  call: (folder: string, index: number) => string[];
}): string[] => [
  `// ${comment}`,
  `inline cudaError_t ${signature} {`,
  '  switch (choose(dimensions)) {',
  ...table.entries.flatMap(({ folder }, entry) => [
    `    case ${entry}: {`,
    ...call(folder, folders.indexOf(folder)),
    '    }',
  ]),
  '    default: {',
  ...call(table.fallback.folder, fallback),
  '    }',
  '  }',
  '}',
  '',
];
