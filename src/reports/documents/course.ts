import * as doc from '../document.ts';

/** What every view of a lesson tells of it. */
export interface LessonAbout {
  /** Two digits. */
  number: string;
  name: string;
  title: string;
  idea: string;
}

/** A lesson that begins. */
export interface LessonView {
  schemaVersion: 1;
  kind: 'lesson';
  lesson: LessonAbout;
  /** Where the learner works. */
  folder: string;
  files: readonly string[];
  /** The folder held the lesson already, and was left as it is. */
  wasThere: boolean;
  /** Markdown. */
  page: string;
}

export interface CourseView {
  schemaVersion: 1;
  kind: 'course';
  /** `isHere`: the working folder holds its copy. */
  lessons: (LessonAbout & { solved: boolean; isHere: boolean })[];
}

type Row = CourseView['lessons'][number];

function stateOf({ solved, isHere }: Row): doc.Inline {
  if (solved) return doc.good('solved');
  return isHere ? doc.warn('begun') : '';
}

/** The lesson that comes next: one that is begun, else the first that is not solved. */
const nextOf = (lessons: readonly Row[]): Row | undefined =>
  lessons.find(({ solved, isHere }) => isHere && !solved) ?? lessons.find(({ solved }) => !solved);

function nextStep(lessons: readonly Row[]): string {
  const next = nextOf(lessons);
  if (next === undefined) return 'All are solved. Real problems: warpsmith optimize attention';
  return `Next: warpsmith learn ${next.isHere ? `check ${next.name}` : next.number}`;
}

/** The lessons of the course, and what comes next. */
export function courseDocument({ lessons }: CourseView): doc.Document {
  const solved = lessons.filter((lesson) => lesson.solved).length;
  return doc.documentOf(`Learn CUDA: ${solved} of ${lessons.length} lessons solved`, [
    doc.table('Lessons', lessons, [
      doc.names('', ({ number }) => number),
      doc.words('lesson', ({ title }) => title),
      doc.names('', stateOf),
    ]),
    doc.text(nextStep(lessons)),
  ]);
}
