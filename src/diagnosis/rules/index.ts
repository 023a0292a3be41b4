import type { Rule } from '../rule.ts';
import { occupancyRule } from './occupancy.ts';
import { parallelism } from './parallelism.ts';
import { serialSections } from './serial-sections.ts';
import { tailEffect } from './tail-effect.ts';

/** Every rule, in the order of FINDING_IDS. */
export const RULES: readonly Rule[] = [parallelism, tailEffect, occupancyRule, serialSections];
