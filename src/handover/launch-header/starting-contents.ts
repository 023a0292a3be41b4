import { type DType, sizeOfDType } from '../../core/dtype.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { ContentsDeclaration } from '../../core/kernel.ts';
import type { HeaderScope } from './header-scope.ts';

/** C++ that fills every workspace with `init: once`, in a function with `check`, `layout`, `workspace`, `enqueuer` and `error`. */
export const writeStarting = (scope: HeaderScope): string[] =>
  Object.entries(scope.candidate.kernel.file.workspaces ?? {})
    .filter(([, { init }]) => init === 'once')
    .flatMap(([name, { contents }]) => {
      const { base, bytes } = scope.buffer(name);
      return [
        '{',
        ...(contents === undefined
          ? [`  error = enqueuer.memset(${base}, 0, static_cast<std::size_t>(${bytes}));`]
          : [
              '  std::vector<unsigned char> contents;',
              ...writePattern(contents, name, scope).map((line) => `  ${line}`),
              `  if (contents.size() > static_cast<std::size_t>(${bytes}))`,
              `    check.refuse_text(${scope.text(`workspaces.${name}.contents: more bytes than the workspace has`)});`,
              '  if (check.failed()) return cudaErrorInvalidValue;',
              `  repeat_to(contents, static_cast<std::size_t>(${bytes}));`,
              `  error = enqueuer.write(${base}, contents);`,
            ]),
        '  if (error != cudaSuccess) return error;',
        '}',
      ];
    });

/** Appends what is repeated over the workspace to `contents`. */
function writePattern(contents: ContentsDeclaration, name: string, scope: HeaderScope): string[] {
  if ('bytes' in contents)
    return (contents.bytes.match(/../g) ?? []).map((pair) => `contents.push_back(0x${pair.toLowerCase()});`);
  const { dtype } = contents;
  const checked = (expression: Expression, key: string): string => {
    const place = scope.place(expression, `workspaces.${name}.contents.${key}`);
    return scope.scalar(scope.expression(expression), dtype, place);
  };
  if ('value' in contents) return [append(dtype, checked(contents.value, 'value'))];
  if ('values' in contents)
    return contents.values.map((value, index) => append(dtype, checked(value, `values[${index}]`)));
  const { bytes } = scope.buffer(name);
  const size = sizeOfDType(dtype);
  return [
    `const Number first = ${checked(contents.from, 'from')};`,
    `const Number step = ${checked(contents.step, 'step')};`,
    `const std::int64_t count = ${bytes} < ${size} ? 1 : ${bytes} / ${size};`,
    'for (std::int64_t i = 0; i < count && !check.failed(); ++i) {',
    '  const Number number = first + Number(static_cast<double>(i)) * step;',
    `  ${append(dtype, scope.scalar('number', dtype, `${scope.text(`workspaces.${name}.contents.step`)}, "an element"`))}`,
    '}',
  ];
}

const append = (dtype: DType, number: string): string =>
  `append(contents, ${sizeOfDType(dtype)}, put_${dtype}, ${number});`;
