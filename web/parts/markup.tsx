/** SVG that the server's chart kit drew, in which every text is escaped. */
export function Drawn({ svg }: { readonly svg: string }) {
  // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the server's `markup`, never from text of elsewhere
  return <div class="drawn" dangerouslySetInnerHTML={{ __html: svg }} />;
}
