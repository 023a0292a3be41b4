/** The first of two accesses that race. */
export interface EarlierAccess {
  /** Linear index of its CTA; absent for the current CTA. */
  cta?: number;
  warp: number;
  /** Number of the access × 32 + lane. */
  where: number;
  isWrite: boolean;
}
