// An address that is no page.
import { href, view } from "../router";
import { Foot } from "../shell/Foot";
import { Sentence } from "../shell/states";
import { START } from "../view";

export function Nowhere() {
  return (
    <div class="page">
      <Sentence title={`There is no page called “${view.value.page}”.`} role="status">
        <div class="actions">
          <a class="btn" href={href({ ...START })}>Overview</a>
          <a class="btn" href={href({ ...START, page: "explore" })}>Explore</a>
        </div>
      </Sentence>
      <Foot parts={[]} />
    </div>
  );
}
