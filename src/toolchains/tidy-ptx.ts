import { posix } from 'node:path';

/**
 * Names source files as the user does, relative to the kernel's folder, in `.file` directives and in the comments that
 * hold clang's inlining chains, so that equal inputs give equal text wherever they are compiled.
 */
export function nameFilesAsUser(ptx: string, kernelFolder: string): string {
  const shown = (path: string): string => {
    const normal = posix.normalize(path);
    return normal.startsWith(`${kernelFolder}/`)
      ? normal.slice(kernelFolder.length + 1)
      : normal.replace(/^kernel\//, '');
  };
  return ptx
    .replaceAll(
      /^(\s*\.file\s+\d+ )(?:"([^"]*)" )?"([^"]*)"/gm,
      (_line, head: string, folder: string | undefined, name: string) =>
        `${head}"${shown(posix.join(folder ?? '', name))}"`,
    )
    .replaceAll(
      /^(\s*\.loc\s[^/\n]*\/\/ )(.*)$/gm,
      (_line, head: string, chain: string) => head + chain.replaceAll(/[^\s@[\]]+(?=:\d+:\d+)/g, (path) => shown(path)),
    );
}

/**
 * nvcc's `-maxrregcount` as a directive of every kernel but those with launch bounds, for which nvcc ignores it too.
 * Source: CUDA C++ Programming Guide, "Launch Bounds".
 */
export function limitRegisters(ptx: string, maximumRegisters: number): string {
  return ptx.replaceAll(/^(\s*\.(?:visible|weak) \.entry [^{;]*)\{/gm, (header, head: string) =>
    head.includes('.maxntid') ? header : `${head}.maxnreg ${maximumRegisters}\n{`,
  );
}
