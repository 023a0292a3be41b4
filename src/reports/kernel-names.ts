const ANONYMOUS = '(anonymous namespace)::';

/** `void flash::fwd<Traits<64>, true>(Params)` → `flash::fwd`: no return type, template arguments and parameters. */
function shortKernelName(name: string): string {
  let depth = 0;
  let short = '';
  for (const character of name.replaceAll(ANONYMOUS, '')) {
    if (character === '>') depth--;
    else if (character === '<') depth++;
    else if (depth > 0) continue;
    else if (character === '(') break;
    else short += character;
  }
  return short.trim().split(' ').at(-1)! || name;
}

/** GPU kernels of a library by their short names, each once; the whole ones stay in the record. */
export const shortKernelNames = (names: readonly string[]): string =>
  [...new Set(names.map(shortKernelName))].join(', ');
