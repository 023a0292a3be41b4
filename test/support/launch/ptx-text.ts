/** Registers every kernel of {@link entry} may use without declaring them. */
const REGISTERS = [
  '.reg .pred %p<16>;',
  '.reg .b16 %h<16>;',
  '.reg .b32 %r<32>;',
  '.reg .b64 %d<32>;',
  '.reg .f32 %f<32>;',
  '.reg .f64 %e<8>;',
].join(' ');

export interface EntryText {
  /** Default `kernel`. */
  readonly name?: string;
  /** `u64 in`: a parameter `in`, loaded into the register `%in` before the body runs. */
  readonly parameters?: readonly string[];
  /** `.maxntid 32, 1, 1` and the like. */
  readonly directives?: string;
  readonly body: string;
}

/** PTX of one `.entry`; its parameters are in registers of the same name. One instruction per parameter, and `ret`. */
export function entry({ name = 'kernel', parameters = [], directives = '', body }: EntryText): string {
  const declared = parameters.map((text) => text.split(' ') as [string, string]);
  const list = declared.map(([type, parameter]) => `.param .${type} ${parameter}`).join(', ');
  const registers = declared.map(([type, parameter]) => `.reg .${type} %${parameter};`).join(' ');
  const loads = declared.map(([type, parameter]) => `ld.param.${type} %${parameter}, [${parameter}];`).join('\n');
  return `.visible .entry ${name}(${list}) ${directives}\n{\n${REGISTERS} ${registers}\n${loads}\n${body}\nret;\n}\n`;
}

/** A whole module: module-scope variables and entries. */
export const moduleText = (...parts: readonly string[]): string =>
  `.version 8.4\n.target sm_89\n.address_size 64\n${parts.join('\n')}`;
