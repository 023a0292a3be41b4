import * as doc from '../document.ts';

export interface NewProblemView {
  schemaVersion: 1;
  kind: 'new-problem';
  name: string;
  folder: string;
  files: readonly string[];
}

/** What lies in a new problem folder, and which commands go with it. */
export const newProblemDocument = ({ name, folder }: NewProblemView): doc.Document =>
  doc.documentOf(`Problem ${name} in ${folder}.`, [
    doc.list([
      { term: 'problem.json', text: 'what to compute, for which shapes, and how right it must be' },
      { term: 'reference.ts', text: 'the same in float64' },
      { term: '01_thread_per_row', text: 'the kernel that a search starts with, and how to launch it' },
      { term: '02_warp_per_row', text: 'a better one, with a parameter' },
    ]),
    doc.text('It sums rows. Make it compute what you need; these commands pass as it is:'),
    doc.list(['check', 'audit', 'evaluate', 'optimize'].map((command) => doc.code(`warpsmith ${command} ${folder}`))),
  ]);
