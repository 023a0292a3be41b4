/** SVG that the server's chart kit drew, in which every text is escaped. */
export function Drawn({ svg }: { readonly svg: string }) {
  return <div class="drawn" dangerouslySetInnerHTML={{ __html: svg }} />;
}
