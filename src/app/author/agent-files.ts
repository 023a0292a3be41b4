import { PATTERNS } from '../../diagnosis/patterns/index.ts';

/** The first line of an AGENTS.md of ours. */
export const AGENTS_HEADING = '# Writing a CUDA kernel with warpsmith';

/** Where agents look for skills. */
export const SKILL_FILE = '.claude/skills/cuda-kernel-remedies/SKILL.md';

export const skillText = (): string => `---
name: cuda-kernel-remedies
description: Known remedies for what limits a CUDA kernel, by warpsmith's findings. Use when feedback, diagnose or history names a finding.
---

# Remedies by finding

${PATTERNS.map(({ id, title, source, triggers }) => `## ${title}\n\n- Remedy \`${id}\`, for the findings ${triggers.map((trigger) => `\`${trigger}\``).join(', ')}\n- Known from: ${source}`).join('\n\n')}

\`diagnose\` says which of these apply to an attempt, with parameter values to try.
`;
