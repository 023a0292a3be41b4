/** Attempts after which a copy has landed, or does not do what it is taken to do: then the case shows what there is. */
const ATTEMPTS = 2000;

/** All threads wait for the first phase of the mbarrier at the register, but not for ever. Uses `%r78` and `%p5`. */
export const waitBriefly = (address: string, label: string): string => `
  mov.u32 %r78, 0;
${label}:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [${address}], 0;
  @%p5 bra ${label}_over;
  add.u32 %r78, %r78, 1;
  setp.lt.u32 %p5, %r78, ${ATTEMPTS};
  @%p5 bra ${label};
${label}_over:
`;
