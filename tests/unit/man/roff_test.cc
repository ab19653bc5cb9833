// SPDX-License-Identifier: Apache-2.0
#include "man/roff.h"

#include <gtest/gtest.h>

namespace lockkeeper::man {
namespace {

TEST(RoffTest, PageHasItsTitleSectionsAndItems) {
  Roff page("lock-tool", 1, "lock-tool 1.2.3");
  page.Section("options");
  page.Item("--ttl D", "length");
  page.Subsection("one");
  page.Paragraph("text");

  EXPECT_EQ(std::move(page).Take(),
            ".\\\" SPDX-License-Identifier: Apache-2.0\n"
            ".TH \"LOCK\\-TOOL\" \"1\" \"\" \"lock\\-tool 1.2.3\" \"lockkeeper\"\n"
            ".SH \"OPTIONS\"\n"
            ".TP\n.B \"\\-\\-ttl D\"\nlength\n"
            ".SS \"one\"\n"
            ".PP\ntext\n");
}

TEST(RoffTest, NothingInATextIsACommand) {
  Roff page("a", 1, "");
  page.Paragraph(".SH no\n'br\n\\fBx \"y\" `z` ^~");

  EXPECT_TRUE(std::move(page).Take().ends_with(
      ".PP\n\\&.SH no\n\\(aqbr\n\\efBx \\(dqy\\(dq \\(gaz\\(ga \\(ha\\(ti\n"));
}

TEST(RoffTest, LineThatBeginsWithASpaceBeginsALineOfThePage) {
  Roff page("a", 1, "");
  page.Paragraph("codes:\n  70  lost\n  75  held\n\nmore");

  EXPECT_TRUE(
      std::move(page).Take().ends_with(".PP\ncodes:\n.br\n70  lost\n.br\n75  held\nmore\n"));
}

}  // namespace
}  // namespace lockkeeper::man
