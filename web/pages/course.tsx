import type { CourseView } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { Waiting } from '../parts/notices.tsx';
import { useAsked } from '../use.ts';

/** The lessons of the course, each in the playground. */
export function CoursePage() {
  const asked = useAsked((signal) => getJson<CourseView>('/lessons', signal), []);
  return (
    <>
      <h1>Course</h1>
      <p class="note">Each lesson is a kernel that is slow or broken, what its counters show, and a goal.</p>
      {asked.value ? (
        <ol class="cards">
          {asked.value.lessons.map(({ number, name, title, idea, solved }) => (
            <li key={name} class="panel">
              <h2>
                <a href={`#/playground?lesson=${name}`}>
                  {Number(number)}. {title}
                </a>
              </h2>
              <p>{idea}</p>
              {solved && <p class="good">solved</p>}
            </li>
          ))}
        </ol>
      ) : (
        <Waiting asked={asked} what="Reading the course" />
      )}
    </>
  );
}
