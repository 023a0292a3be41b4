import type { LessonAbout } from './course.ts';

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
