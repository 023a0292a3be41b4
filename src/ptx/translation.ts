/**
 * The opcode that turns a virtual address of device memory into a real one: the real one, the virtual one, how many bytes are accessed
 * there, and of a `cp.async` how many of them are read. Its modifiers are `global` or `generic`, then `load` or `store`. No PTX has it: a
 * name there has no parentheses.
 */
export const TRANSLATE = 'translate()';
