import type { Evaluation, EvaluationRequest } from '../../core/evaluation.ts';

const PROBLEM_FOLDER = '{problem}';
const KERNEL_FOLDER = '{kernel}';

type Folders = Pick<EvaluationRequest, 'problem' | 'candidate'>;

/** An evaluation without folders of its machine and names in its store. */
export const toPortable = (evaluation: Evaluation, folders: Folders): Evaluation =>
  withoutFolders(withoutStored(evaluation), folders);

/** An evaluation without folders of its machine. */
export const withoutFolders = (evaluation: Evaluation, { problem, candidate }: Folders): Evaluation =>
  mapStrings(evaluation, (text) =>
    // The longer folder first, because the kernel's folder usually lies in the problem's.
    text.replaceAll(candidate.kernel.folder, KERNEL_FOLDER).replaceAll(problem.folder, PROBLEM_FOLDER),
  );

/** The same evaluation, with folders of this machine. */
export const fromPortable = (evaluation: Evaluation, { problem, candidate }: Folders): Evaluation =>
  mapStrings(evaluation, (text) =>
    text.replaceAll(KERNEL_FOLDER, () => candidate.kernel.folder).replaceAll(PROBLEM_FOLDER, () => problem.folder),
  );

function withoutStored({ artifacts: _, ...evaluation }: Evaluation): Evaluation {
  if (!evaluation.profile) return evaluation;
  const { reportObject: __, ...profile } = evaluation.profile;
  return { ...evaluation, profile };
}

function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => mapStrings(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapStrings(item, change)])) as T;
}
